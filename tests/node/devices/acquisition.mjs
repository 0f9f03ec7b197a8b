// Apps with the bare SDK `code-push`, which has no `sync()` of its own: the usual order of its calls.

import { load, version } from './script.mjs';

const METHODS = { 0: 'GET', 2: 'POST' };
const settled = (call) => new Promise((resolve, reject) => call((error, value) => (error ? reject(error) : resolve(value))));

/** Starts an app with the package `sdk`. */
export const acquisition = (sdk) => (native, network) => {
  const { AcquisitionManager } = load(`module.exports = require('${sdk}/script/acquisition-sdk')`, {}, {});
  const requester = {
    request(verb, url, bodyOrCallback, callback) {
      const [body, done] = callback ? [bodyOrCallback, callback] : [undefined, bodyOrCallback];
      const headers = {
        Accept: 'application/json',
        'Content-Type': 'application/json',
        'X-CodePush-Plugin-Name': sdk,
        'X-CodePush-Plugin-Version': '0.0.0',
        'X-CodePush-SDK-Version': version(sdk),
      };
      network.send(METHODS[verb], url, { headers, body }).then(({ status, bytes }) => done(null, { statusCode: status, body: bytes.toString() }), done);
    },
  };
  const manager = async () => new AcquisitionManager(requester, await native.getConfiguration());

  const check = async () => {
    const { appVersion } = await native.getConfiguration();
    const current = await native.getUpdateMetadata(native.codePushUpdateStateLatest);
    const sender = await manager();
    const update = await settled((done) => sender.queryUpdateWithCurrentPackage(current ?? { appVersion }, done));
    if (!update || update.updateAppVersion || update.packageHash === current?.packageHash) return null;
    return { ...update, failedInstall: await native.isFailedUpdate(update.packageHash) };
  };

  const report = async () => {
    const found = await native.getNewStatusReport();
    if (!found) return;
    const sender = await manager();
    const key = found.previousDeploymentKey ?? (await native.getConfiguration()).deploymentKey;
    await settled((done) => sender.reportStatusDeploy(found.package ?? null, found.status, found.previousLabelOrAppVersion, key, done));
    native.recordStatusReported(found);
  };

  const sync = async (note) => {
    await native.notifyApplicationReady();
    await report();
    note('CHECKING_FOR_UPDATE');
    const update = await check();
    if (!update || update.failedInstall) return note('UP_TO_DATE');
    note('DOWNLOADING_PACKAGE');
    const downloaded = await native.downloadUpdate(update);
    const sender = await manager();
    await settled((done) => sender.reportStatusDownload(update, done));
    note('INSTALLING_UPDATE');
    await native.installUpdate(downloaded);
    note('UPDATE_INSTALLED');
    if (update.isMandatory) native.restartApp(false);
  };

  return { check, sync };
};
