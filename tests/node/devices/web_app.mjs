// The native part of the Cordova plugin and of its fork for Capacitor, in memory: what it keeps on disk, and what it does when the app starts.
// Written after the behavior of the Android sources. `actions` are those that the JavaScript calls.

import { packageHash, unzip } from '../zip.mjs';
import { Files } from './files.mjs';

const CURRENT = 'codepush/currentPackage.json';
const OLD = 'codepush/oldPackage.json';
const IMMEDIATE = 0;
const REPORTS = { binary: 0, confirmed: 1, rolledBack: 2 };

/** A device with a web app. `launch` starts its JavaScript with the device and returns its `check`, `sync` and `reportStatus`. */
export class WebApp {
  files = new Files();
  // On disk.
  #failed = new Set();
  #isFirstRun = true;
  #pendingMode = null;
  #needsConfirmation = false;
  #lastReport = {};
  #reportToRetry = null;
  // In memory.
  #didUpdate = false;
  #rollback = null;
  #running = null;
  #wantsReload = false;
  #app = null;

  constructor({ launch, configuration, network, site, binaryHash }) {
    Object.assign(this, { launch, configuration, network, site, binaryHash });
    this.buildTime = '1700000000000';
  }

  /** The app starts. Returns the label of the release that it runs, or null for its own pages. */
  start() {
    this.#didUpdate = false;
    this.#discardOutdated();
    if (this.#pendingMode === null) this.#revertUnconfirmed();
    else this.#markUpdate();
    this.#pendingMode = null;
    this.#load();
    return this.#running;
  }

  check() {
    return this.#app.check();
  }

  async sync() {
    const statuses = [];
    await this.#app.sync((status) => statuses.push(status));
    await this.network.idle();
    const restarted = this.#wantsReload;
    this.#wantsReload = false;
    // New pages in the same process.
    if (restarted) this.#load();
    return { statuses, restarted, running: this.#running };
  }

  /** What the JavaScript may ask for, by the plugin's names. A failure is thrown. */
  actions = {
    getAppVersion: () => this.configuration.appVersion,
    getBinaryHash: () => this.binaryHash,
    getDeploymentKey: () => this.configuration.deploymentKey,
    getServerURL: () => this.configuration.serverUrl,
    getNativeBuildTime: () => this.buildTime,
    getPublicKey: () => null,
    getPackageHash: (folder) => packageHash(this.files.below(folder)),
    isFailedUpdate: (hash) => this.#failed.has(hash),
    isFirstRun: (hash) => this.#didUpdate && Boolean(hash) && hash === this.#metadata(CURRENT)?.packageHash,
    isPendingUpdate: () => this.#pendingMode !== null,
    notifyApplicationReady: () => this.#ready(),
    preInstall: (folder) => this.#inspect(folder),
    install: (folder, mode) => {
      this.#inspect(folder);
      if (Number(mode) === IMMEDIATE) {
        this.#wantsReload = true;
        this.#markUpdate();
      } else {
        this.#pendingMode = Number(mode);
      }
    },
    reportSucceeded: ({ status, label, appVersion, deploymentKey }) => {
      if (status === REPORTS.rolledBack) return;
      this.#lastReport = { labelOrAppVersion: label ?? appVersion, deploymentKey };
      this.#reportToRetry = null;
    },
    reportFailed: (report) => {
      this.#reportToRetry = report;
    },
  };

  /** Unpacks an archive into a folder. */
  unzip(archive, folder) {
    for (const [name, bytes] of unzip(this.files.read(archive))) this.files.write(`${folder}/${name}`, bytes);
  }

  #metadata(path) {
    const bytes = this.files.read(path);
    return bytes ? JSON.parse(bytes) : null;
  }

  #load() {
    const current = this.#metadata(CURRENT);
    this.#running = current && this.files.isFile(`${current.localPath}/${this.site}/index.html`) ? current.label : null;
    this.#app = this.launch(this);
  }

  #discardOutdated() {
    const current = this.#metadata(CURRENT);
    if (!current || (current.nativeBuildTime === this.buildTime && current.appVersion === this.configuration.appVersion)) return;
    this.files.remove('codepush');
    this.#failed.clear();
    [this.#pendingMode, this.#needsConfirmation, this.#isFirstRun] = [null, false, true];
  }

  #markUpdate() {
    this.#didUpdate = true;
    this.#needsConfirmation = true;
  }

  #revertUnconfirmed() {
    if (!this.#needsConfirmation) return;
    const { label, appVersion, deploymentKey, packageHash: hash, localPath } = this.#metadata(CURRENT);
    this.#rollback = { status: REPORTS.rolledBack, label, appVersion, deploymentKey };
    this.#needsConfirmation = false;
    this.#failed.add(hash);
    this.files.remove(localPath);
    this.files.remove(CURRENT);
    if (this.files.isFile(OLD)) this.files.copy(OLD, CURRENT);
    this.files.remove(OLD);
  }

  #ready() {
    if (this.#isFirstRun) {
      this.#isFirstRun = false;
      const { appVersion, deploymentKey } = this.configuration;
      this.#report({ status: REPORTS.binary, appVersion, deploymentKey });
    } else if (this.#needsConfirmation) {
      const { label, appVersion, deploymentKey } = this.#metadata(CURRENT);
      this.#report({ status: REPORTS.confirmed, label, appVersion, deploymentKey });
    } else if (this.#rollback) {
      this.#report(this.#rollback);
      this.#rollback = null;
    } else if (this.#reportToRetry) {
      this.#report(this.#reportToRetry);
      this.#reportToRetry = null;
    }
    this.#needsConfirmation = false;
    const old = this.#metadata(OLD);
    if (old) this.files.remove(old.localPath);
  }

  #report({ status, label, appVersion, deploymentKey }) {
    const { labelOrAppVersion, deploymentKey: lastKey } = this.#lastReport;
    const app = this.#app;
    queueMicrotask(() => app.reportStatus(status, label, appVersion, deploymentKey, labelOrAppVersion, lastKey));
  }

  #inspect(folder) {
    if (!this.files.isFile(`${folder}/${this.site}/index.html`)) throw new Error(`no start page in ${folder}`);
    const { packageHash: expected } = this.#metadata(CURRENT);
    const hash = packageHash(this.files.below(folder));
    if (hash !== expected) throw new Error(`the files have the hash ${hash}, not ${expected}`);
  }
}
