// An independent verifier of signed bundles, written from the protocol description alone (wire facts, parts 5.2 and 5.4), and the keys for its tests.
//
//   node signature.mjs keys FOLDER            writes keys of every kind
//   node signature.mjs verify ZIP PUBLIC_KEY  prints what a device with this key does with the bundle

import { generateKeyPairSync, verify } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { packageHash, unzip } from './zip.mjs';

const [action, first, second] = process.argv.slice(2);

function keys(folder) {
  const write = (name, key) => writeFileSync(join(folder, name), key);
  const rsa = (bits, type, more = {}) =>
    generateKeyPairSync('rsa', {
      modulusLength: bits,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type, format: 'pem', ...more },
    });
  const own = rsa(2048, 'pkcs8');
  write('private.pem', own.privateKey);
  write('public.pem', own.publicKey);
  const old = rsa(2048, 'pkcs1');
  write('old-private.pem', old.privateKey);
  write('old-public.pem', old.publicKey);
  write('encrypted.pem', rsa(2048, 'pkcs8', { cipher: 'aes-256-cbc', passphrase: 'secret' }).privateKey);
  write('old-encrypted.pem', rsa(2048, 'pkcs1', { cipher: 'aes-256-cbc', passphrase: 'secret' }).privateKey);
  write('small.pem', rsa(1024, 'pkcs8').privateKey);
  const curve = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  write('curve.pem', curve.privateKey);
  write('curve-public.pem', curve.publicKey);
}

/** Why a device with this key refuses a bundle; nothing if it installs it. */
function refusal(files, publicKey) {
  const signature = files.get('CodePush/.codepushrelease');
  if (!signature) return 'no signature';
  const parts = signature.toString('utf8').trim().split('.');
  if (parts.length !== 3) return 'no JWT';
  const [header, claims] = parts.slice(0, 2).map((part) => JSON.parse(Buffer.from(part, 'base64url')));
  if (header.alg !== 'RS256') return 'another algorithm';
  const isSigned = verify('RSA-SHA256', Buffer.from(`${parts[0]}.${parts[1]}`), publicKey, Buffer.from(parts[2], 'base64url'));
  if (!isSigned) return 'another key';
  if (claims.claimVersion !== '1.0.0') return 'other claims';
  return claims.contentHash === packageHash(files) ? undefined : 'other contents';
}

if (action === 'keys') {
  keys(first);
} else {
  const files = unzip(readFileSync(first));
  const refused = refusal(files, readFileSync(second, 'utf8'));
  console.log(JSON.stringify({ packageHash: packageHash(files), refused: refused ?? null }));
}
