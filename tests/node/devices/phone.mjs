// The native part of React Native's SDK, in memory: what it keeps on disk, and what it does when the app starts.
// Written after the behavior of the Android sources; all names of methods are those that the SDK's JavaScript calls.

import { packageHash, unzip } from '../zip.mjs';

const INSTALL_MODES = { codePushInstallModeImmediate: 0, codePushInstallModeOnNextRestart: 1, codePushInstallModeOnNextResume: 2, codePushInstallModeOnNextSuspend: 3 };
const STATES = { codePushUpdateStateRunning: 0, codePushUpdateStatePending: 1, codePushUpdateStateLatest: 2 };
const BUNDLE = /(^|\/)main\.jsbundle$/;

/** A device with a React Native app. `launch` starts the app's JavaScript with the native module and returns its `check` and `sync`. */
export class Phone {
  // On disk.
  #packages = new Map();
  #current = null;
  #previous = null;
  #pending = null;
  #failed = [];
  #rollback = null;
  #lastReport = null;
  #reportToRetry = null;
  // In memory.
  #didUpdate = false;
  #mustReportRollback = false;
  #running = null;
  #wantsRestart = false;
  #app = null;

  constructor({ launch, configuration, network }) {
    Object.assign(this, { launch, configuration, network });
  }

  /** The app starts. Returns the label of the release that it runs, or null for its own bundle. */
  start() {
    this.#begin();
    if (this.#current && this.#packages.get(this.#current).appVersion !== this.configuration.appVersion) {
      // A release for another binary: the infinite update loop begins here.
      this.#clear();
    }
    this.#running = this.#packages.get(this.#current)?.label ?? null;
    this.#app = this.launch(this.#native(), this.network);
    return this.#running;
  }

  check() {
    return this.#app.check();
  }

  async sync() {
    const statuses = [];
    await this.#app.sync((status) => statuses.push(status));
    await this.network.idle();
    const restarted = this.#wantsRestart;
    this.#wantsRestart = false;
    if (restarted) this.start();
    return { statuses, restarted, running: this.#running };
  }

  #begin() {
    this.#didUpdate = false;
    if (!this.#pending || !this.#current) return;
    if (this.#pending.isLoading) {
      // It was started once and never said that it is ready.
      this.#mustReportRollback = true;
      this.#fail(this.#packages.get(this.#current));
      this.#packages.delete(this.#current);
      [this.#current, this.#previous, this.#pending] = [this.#previous, null, null];
    } else {
      this.#didUpdate = true;
      this.#pending.isLoading = true;
    }
  }

  #clear() {
    this.#packages.clear();
    [this.#current, this.#previous, this.#pending, this.#failed, this.#didUpdate] = [null, null, null, [], false];
  }

  #fail(update) {
    if (!this.#hasFailed(update.packageHash)) this.#failed.push(update);
  }

  #hasFailed(hash) {
    return this.#failed.some((update) => update.packageHash === hash);
  }

  #isPending(hash) {
    return this.#pending !== null && !this.#pending.isLoading && (hash === undefined || this.#pending.hash === hash);
  }

  #native() {
    return {
      ...INSTALL_MODES,
      ...STATES,
      getConfiguration: async () => ({ ...this.configuration }),
      getUpdateMetadata: async (state) => this.#metadata(state),
      downloadUpdate: (update) => this.#download(update),
      installUpdate: async (update) => this.#install(update.packageHash),
      isFailedUpdate: async (hash) => this.#hasFailed(hash),
      isFirstRun: async (hash) => this.#didUpdate && Boolean(hash) && hash === this.#current,
      getLatestRollbackInfo: async () => this.#rollback,
      setLatestRollbackInfo: async (hash) => {
        const count = this.#rollback?.packageHash === hash ? this.#rollback.count : 0;
        this.#rollback = { packageHash: hash, time: Date.now(), count: count + 1 };
      },
      notifyApplicationReady: async () => {
        this.#pending = null;
      },
      getNewStatusReport: async () => this.#report() ?? '',
      recordStatusReported: (report) => {
        if (report.status !== 'DeploymentFailed') this.#lastReport = report.appVersion ?? identifier(report.package);
      },
      saveStatusReportForRetry: (report) => {
        this.#reportToRetry = report;
      },
      restartApp: (onlyIfPending) => {
        this.#wantsRestart ||= !onlyIfPending || this.#isPending();
      },
      clearPendingRestart() {},
      allow() {},
      disallow() {},
      clearUpdates: () => this.#clear(),
    };
  }

  #metadata(state) {
    const current = this.#packages.get(this.#current);
    if (!current) return null;
    const isPending = this.#isPending(this.#current);
    if (state === STATES.codePushUpdateStatePending && !isPending) return null;
    if (state === STATES.codePushUpdateStateRunning && isPending) return this.#packages.get(this.#previous) ?? null;
    return { ...current, isPending };
  }

  async #download(update) {
    const files = unzip(await this.network.download(update.downloadUrl));
    const bundlePath = [...files.keys()].find((name) => BUNDLE.test(name));
    const hash = packageHash(files);
    if (!bundlePath || hash !== update.packageHash) {
      this.#fail(update);
      throw new Error(`the bundle has the files ${[...files.keys()]} and the hash ${hash}, not ${update.packageHash}`);
    }
    this.#packages.set(hash, { ...update, bundlePath });
    return { ...update, bundlePath };
  }

  #install(hash) {
    if (hash !== this.#current) {
      if (!this.#isPending()) this.#previous = this.#current;
      this.#current = hash;
    }
    this.#pending = { hash, isLoading: false };
  }

  #report() {
    if (this.#mustReportRollback) {
      this.#mustReportRollback = false;
      return { package: this.#failed.at(-1), status: 'DeploymentFailed' };
    }
    const last = this.#lastReport;
    const [key, label] = last?.includes(':') ? last.split(':') : [undefined, last ?? undefined];
    const previous = { previousDeploymentKey: key, previousLabelOrAppVersion: label };
    if (this.#didUpdate) {
      const current = this.#packages.get(this.#current);
      return identifier(current) === last ? null : { package: current, status: 'DeploymentSucceeded', ...previous };
    }
    if (this.#running === null) {
      return this.configuration.appVersion === last ? null : { appVersion: this.configuration.appVersion, ...previous };
    }
    const retry = this.#reportToRetry;
    this.#reportToRetry = null;
    return retry;
  }
}

const identifier = ({ deploymentKey, label }) => `${deploymentKey}:${label}`;
