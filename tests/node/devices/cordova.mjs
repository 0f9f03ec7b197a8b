// Apps with the Cordova plugin: its whole JavaScript, and the plugins that it needs (file, HTTP, ZIP), in memory.

import { load, version } from './script.mjs';

const SDK = 'cordova-plugin-code-push';
const DATA = 'file:///data/';
const INTERNAL = 'cdvfile://localhost/data/';
const NOT_FOUND = { code: 1 };
const pathOf = (url) => url.replace(DATA, '').replace(INTERNAL, '');
const later = (call, ...values) => queueMicrotask(() => call?.(...values));

/** Starts the plugin's JavaScript. */
export const cordova = (device) => {
  const { files, network, configuration } = device;
  const { modes, statuses } = load(
    `exports.modes = require('${SDK}/bin/www/installMode'); exports.statuses = require('${SDK}/bin/www/syncStatus')`,
    {},
    {},
  );
  const { AcquisitionManager, AcquisitionStatus } = load(`module.exports = require('code-push/script/acquisition-sdk')`, {}, {});
  const window = { resolveLocalFileSystemURL: (url, found, failed) => open(files, pathOf(url), {}, isKnown, found, failed) };
  const headers = {};
  const scope = {
    window,
    device: { uuid: configuration.clientUniqueId },
    AcquisitionManager,
    AcquisitionStatus,
    InstallMode: modes,
    FileReader: reader(files),
    zip: {
      unzip(archive, folder, done) {
        device.unzip(pathOf(archive), pathOf(folder));
        later(done, 0);
      },
    },
    cordova: {
      file: { dataDirectory: DATA, applicationDirectory: 'file:///app/' },
      require: () => ({ metadata: { [SDK]: version(SDK), 'code-push': version('code-push') } }),
      exec(succeeded, failed, _service, action, values) {
        try {
          const value = device.actions[action](...values);
          later(succeeded, typeof value === 'boolean' ? Number(value) : value);
        } catch (error) {
          later(failed, String(error));
        }
      },
      plugin: {
        http: {
          setHeader(name, value) {
            headers[name] = value;
          },
          sendRequest(url, { method, data }, succeeded, failed) {
            const sent = network.send(method.toUpperCase(), url, { headers: { ...headers }, body: data });
            const answered = ({ status, bytes }) =>
              status < 300 ? succeeded({ status, data: bytes.toString() }) : failed({ status, error: bytes.toString() });
            sent.then(answered, (error) => failed({ status: -1, error: String(error) }));
          },
          downloadFile(url, _parameters, _headers, target, succeeded, failed) {
            const save = (bytes) => {
              files.write(pathOf(target), bytes);
              succeeded(entry(files, pathOf(target)));
            };
            network.download(url).then(save, (error) => failed({ status: -1, error: String(error) }));
          },
        },
      },
    },
  };
  const plugin = load(`module.exports = require('${SDK}/bin/www/codePush')`, {}, scope);
  window.codePush = plugin;
  return {
    reportStatus: (...values) => plugin.reportStatus(...values),
    check: () => new Promise((resolve, reject) => plugin.checkForUpdate(resolve, reject)),
    sync: (note) =>
      new Promise((resolve, reject) => {
        const isLast = (status) => status <= statuses.IN_PROGRESS;
        const changed = (status) => {
          note(statuses[status]);
          if (isLast(status)) resolve();
        };
        plugin.sync(changed, {}, undefined, reject);
      }),
  };
};

const isKnown = (files, path) => files.isFile(path) || files.isFolder(path);

/** Opens or creates what is at a path. */
function open(files, path, { create }, exists, found, failed, make = () => {}) {
  if (!exists(files, path) && create) make();
  if (exists(files, path)) later(found, entry(files, path));
  else later(failed, NOT_FOUND);
}

/** A file or folder as Cordova's file plugin presents it. */
function entry(files, path) {
  const parts = path.split('/').filter(Boolean);
  const at = (name) => [...(name.startsWith('/') ? [] : parts), name].join('/');
  const isDirectory = files.isFolder(path);
  const remove = (done) => {
    files.remove(path);
    later(done);
  };
  return {
    name: parts.at(-1) ?? '',
    fullPath: `/${parts.join('/')}`,
    isDirectory,
    isFile: !isDirectory,
    toInternalURL: () => `${INTERNAL}${parts.join('/')}`,
    getParent: (found) => later(found, entry(files, parts.slice(0, -1).join('/'))),
    getDirectory: (name, options, found, failed) =>
      open(files, at(name), options, (all, target) => all.isFolder(target), found, failed, () => files.makeFolder(at(name))),
    getFile: (name, options, found, failed) =>
      open(files, at(name), options, (all, target) => all.isFile(target), found, failed, () => files.write(at(name), '')),
    createReader: () => ({ readEntries: (found) => later(found, files.list(path).map((name) => entry(files, at(name)))) }),
    copyTo(folder, name, done) {
      files.copy(path, `${folder.fullPath}/${name}`);
      later(done, entry(files, `${folder.fullPath}/${name}`));
    },
    remove,
    removeRecursively: remove,
    file: (found) => later(found, { path }),
    createWriter: (found) =>
      later(found, {
        write(content) {
          files.write(path, content);
          later(() => this.onwriteend({}));
        },
      }),
  };
}

/** The class `FileReader` for these files. */
const reader = (files) =>
  class {
    readAsText({ path }) {
      this.result = files.read(path).toString();
      later(() => this.onloadend({}));
    }
  };
