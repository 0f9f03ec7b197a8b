// Drives apps with the unmodified JavaScript of device SDKs; only native parts are replaced. One JSON command per line on standard input, one JSON
// answer per line on standard output, in order:
//   {"do":"new","device":NAME,"sdk":PACKAGE,"configuration":{…}}   → {"ok": the package's version}
//   {"do":"start","device":NAME}    the app starts                 → {"ok": the label of the release that it runs, or null}
//   {"do":"check","device":NAME}    the SDK's checkForUpdate()     → {"ok": the SDK's remote package, or null}
//   {"do":"sync","device":NAME}     the SDK's sync()               → {"ok": {statuses, restarted, running}}
//   {"do":"sent","device":NAME}     requests since the last time   → {"ok": ["METHOD PATH STATUS", …]}
// A failure is {"error": text}.

import { createInterface } from 'node:readline';
import { acquisition } from './devices/acquisition.mjs';
import { capacitor } from './devices/capacitor.mjs';
import { cordova } from './devices/cordova.mjs';
import { Network } from './devices/network.mjs';
import { Phone } from './devices/phone.mjs';
import { reactNative } from './devices/react_native.mjs';
import { version } from './devices/script.mjs';
import { WebApp } from './devices/web_app.mjs';
import { sha256 } from './zip.mjs';

const devices = new Map();
const binaryHash = sha256('the pages in the app store build');

const create = (sdk, common) => {
  if (sdk === 'cordova-plugin-code-push') return new WebApp({ ...common, launch: cordova, site: 'www', binaryHash });
  if (sdk === 'cap-codepush') return new WebApp({ ...common, launch: capacitor, site: 'public', binaryHash });
  return new Phone({ ...common, launch: sdk.includes('react-native') ? reactNative(sdk) : acquisition(sdk) });
};

const commands = {
  new({ device, sdk, configuration }) {
    devices.set(device, create(sdk, { configuration, network: new Network() }));
    return version(sdk);
  },
  start: ({ device }) => devices.get(device).start(),
  check: ({ device }) => devices.get(device).check(),
  sync: ({ device }) => devices.get(device).sync(),
  sent: ({ device }) => devices.get(device).network.takeSent(),
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  let answer;
  try {
    answer = { ok: (await commands[command.do](command)) ?? null };
  } catch (error) {
    answer = { error: String(error?.stack ?? error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
