// Apps with React Native's SDK and its forks: their whole JavaScript, `sync()` included.

import { load } from './script.mjs';

/** Starts the JavaScript of the package `sdk`. */
export const reactNative = (sdk) => (native, network) => {
  const modules = {
    'react-native': {
      NativeModules: { CodePush: native },
      Platform: { OS: 'ios' },
      AppState: { addEventListener: () => ({ remove() {} }) },
      Alert: { alert() {} },
      NativeEventEmitter: class {
        addListener() {
          return { remove() {} };
        }
      },
    },
    react: {},
  };
  const fetch = async (url, { method, headers, body }) => {
    const { status, bytes } = await network.send(method, url, { headers, body: body ?? undefined });
    return { status, text: async () => bytes.toString() };
  };
  const codePush = load(`module.exports = require('${sdk}')`, modules, { fetch });
  const names = Object.fromEntries(Object.entries(codePush.SyncStatus).map(([name, status]) => [status, name]));
  return {
    check: () => codePush.checkForUpdate(),
    sync: (note) => codePush.sync({}, (status) => note(names[status])),
  };
};
