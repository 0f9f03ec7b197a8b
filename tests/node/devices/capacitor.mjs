// Apps with the Capacitor plugin: its whole JavaScript, and the plugins that it needs (core, filesystem, device), in memory.

import { load } from './script.mjs';

const SDK = 'cap-codepush';
const DATA = 'file:///data/';

// The name of the value that each action takes, in order.
const PARAMETERS = {
  getPackageHash: ['path'],
  isFailedUpdate: ['packageHash'],
  isFirstRun: ['packageHash'],
  preInstall: ['startLocation'],
  install: ['startLocation', 'installMode'],
  reportSucceeded: ['statusReport'],
  reportFailed: ['statusReport'],
};

/** Starts the plugin's JavaScript. */
export const capacitor = (device) => {
  const { network, configuration } = device;
  const actions = Object.entries(device.actions).map(([name, act]) => [
    name,
    async (options = {}) => ({ value: act(...(PARAMETERS[name] ?? []).map((parameter) => options[parameter])) }),
  ]);
  const native = {
    ...Object.fromEntries(actions),
    unzip: async ({ zipFile, targetDirectory }) => device.unzip(zipFile.replace(DATA, ''), targetDirectory.replace(DATA, '')),
  };
  const modules = {
    '@capacitor/core': { registerPlugin: () => native, CapacitorHttp: http(network) },
    '@capacitor/filesystem': { Directory: { Data: 'DATA' }, Encoding: { UTF8: 'utf8' }, Filesystem: filesystem(device.files) },
    '@capacitor/device': { Device: { getId: async () => ({ identifier: configuration.clientUniqueId }) } },
    '@capacitor/dialog': { Dialog: {} },
  };
  const { codePush, SyncStatus } = load(
    `exports.codePush = require('${SDK}').codePush; exports.SyncStatus = require('${SDK}/dist/esm/syncStatus').SyncStatus`,
    modules,
    { window: {} },
  );
  return {
    reportStatus: (...values) => codePush.reportStatus(...values),
    check: () => new Promise((resolve, reject) => codePush.checkForUpdate(resolve, reject)),
    sync: (note) => codePush.sync({ onSyncStatusChanged: (status) => note(SyncStatus[status]) }),
  };
};

/** The HTTP plugin: JSON bodies as values, other ones in Base64. */
const http = (network) => ({
  async request({ method, url, headers, data }) {
    const body = data === undefined ? undefined : JSON.stringify(data);
    const { status, headers: answered, bytes } = await network.send(method, url, { headers, body });
    const isJson = (answered.get('content-type') ?? '').includes('application/json');
    return { status, data: isJson ? JSON.parse(bytes) : bytes.toString() };
  },
  get: async ({ url }) => ({ status: 200, data: (await network.download(url)).toString('base64') }),
});

/** The filesystem plugin. */
const filesystem = (files) => {
  const need = (isThere, path) => {
    if (!isThere) throw new Error(`${path} does not exist`);
  };
  return {
    async stat({ path }) {
      need(files.isFile(path) || files.isFolder(path), path);
      return { type: files.isFile(path) ? 'file' : 'directory' };
    },
    mkdir: async ({ path }) => files.makeFolder(path),
    rmdir: async ({ path }) => files.remove(path),
    deleteFile: async ({ path }) => files.remove(path),
    getUri: async ({ path }) => ({ uri: `${DATA}${path}` }),
    readdir: async ({ path }) => ({ files: files.list(path).map((name) => ({ name })) }),
    async readFile({ path }) {
      need(files.isFile(path), path);
      return { data: files.read(path).toString() };
    },
    writeFile: async ({ path, data, encoding }) => files.write(path, Buffer.from(data, encoding ?? 'base64')),
    async copy({ from, to }) {
      need(files.isFile(from) || files.isFolder(from), from);
      files.copy(from, to);
    },
  };
};
