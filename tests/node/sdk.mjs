// Drives the unmodified device SDKs. One JSON command per line on standard input, one JSON answer per line on standard output, in order:
//   {"do":"new","client":NAME,"sdk":PACKAGE,"configuration":{…}}
//   {"do":"check","client":NAME,"package":{…}}              → {"ok": the SDK's remote package, or null}
//   {"do":"download","url":URL}                             → {"ok": {status, contentLength, contentEncoding, size, sha256, packageHash, files}}
//   {"do":"deployed","client":NAME,"package":{…}|null,"status":…,"previous":…,"previousKey":…}
//   {"do":"downloaded","client":NAME,"package":{…}}
// A failure is {"error": text}.

import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { packageHash, sha256, unzip } from './zip.mjs';

const require = createRequire(import.meta.url);

/** What a device gives the SDK to send requests with; headers as React Native's SDK has them. */
const requesterOf = (sdk) => ({
  request(verb, url, bodyOrCallback, callback) {
    const [body, done] = typeof bodyOrCallback === 'function' ? [undefined, bodyOrCallback] : [bodyOrCallback, callback];
    const method = { 0: 'GET', 2: 'POST' }[verb];
    if (!method) throw new Error(`no such verb: ${verb}`);
    const headers = {
      Accept: 'application/json',
      'Content-Type': 'application/json',
      'X-CodePush-Plugin-Name': 'react-native-code-push',
      'X-CodePush-Plugin-Version': '9.0.1',
      'X-CodePush-SDK-Version': require(`${sdk}/package.json`).version,
    };
    fetch(url, { method, headers, body })
      .then(async (answer) => ({ statusCode: answer.status, body: await answer.text() }))
      .then((answer) => done(null, answer), (error) => done(error, null));
  },
});

const clients = new Map();
const settled = (call) => new Promise((resolve, reject) => call((error, value) => (error ? reject(error) : resolve(value ?? null))));

const commands = {
  async new({ client, sdk, configuration }) {
    const { AcquisitionManager } = require(`${sdk}/script/acquisition-sdk`);
    clients.set(client, new AcquisitionManager(requesterOf(sdk), configuration));
    return require(`${sdk}/package.json`).version;
  },
  check: ({ client, package: current }) => settled((done) => clients.get(client).queryUpdateWithCurrentPackage(current, done)),
  async download({ url }) {
    // Like Android: no compression, and Content-Length is required.
    const answer = await fetch(url, { headers: { 'Accept-Encoding': 'identity' } });
    const bytes = Buffer.from(await answer.arrayBuffer());
    const files = unzip(bytes);
    const { headers, status } = answer;
    return {
      status,
      contentLength: headers.get('content-length'),
      contentEncoding: headers.get('content-encoding'),
      size: bytes.length,
      sha256: sha256(bytes),
      packageHash: packageHash(files),
      files: Object.fromEntries([...files].map(([name, content]) => [name, sha256(content)])),
    };
  },
  deployed: ({ client, package: deployed, status, previous, previousKey }) =>
    settled((done) => clients.get(client).reportStatusDeploy(deployed, status, previous, previousKey, done)),
  downloaded: ({ client, package: downloaded }) => settled((done) => clients.get(client).reportStatusDownload(downloaded, done)),
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  let answer;
  try {
    answer = { ok: await commands[command.do](command) };
  } catch (error) {
    answer = { error: String(error?.stack ?? error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
