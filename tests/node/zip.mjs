// An independent reader of bundles: ZIP entries, their bytes and the package hash as computed by devices.
// Based on the ZIP specification and the protocol description alone, without code of the service, so that differences are detected.

import { createHash } from 'node:crypto';
import { crc32, inflateRawSync } from 'node:zlib';

const END = 0x06054b50;
const CENTRAL = 0x02014b50;
const LOCAL = 0x04034b50;

export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** Every file of the archive, by name. Throws when the archive is not sound. */
export function unzip(archive) {
  let end = archive.length - 22;
  while (end >= 0 && archive.readUInt32LE(end) !== END) end -= 1;
  if (end < 0) throw new Error('no end of central directory');
  const files = new Map();
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left -= 1) {
    if (archive.readUInt32LE(at) !== CENTRAL) throw new Error(`no directory entry at ${at}`);
    const [method, sum, packed, size] = [archive.readUInt16LE(at + 10), archive.readUInt32LE(at + 16), archive.readUInt32LE(at + 20), archive.readUInt32LE(at + 24)];
    const [nameLength, extra, comment] = [28, 30, 32].map((offset) => archive.readUInt16LE(at + offset));
    const local = archive.readUInt32LE(at + 42);
    const name = archive.toString('utf8', at + 46, at + 46 + nameLength);
    at += 46 + nameLength + extra + comment;
    if (archive.readUInt32LE(local) !== LOCAL) throw new Error(`no local header of ${name}`);
    const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    const data = archive.subarray(start, start + packed);
    if (method !== 0 && method !== 8) throw new Error(`${name} is packed by method ${method}`);
    const bytes = method === 8 ? inflateRawSync(data) : data;
    if (bytes.length !== size || crc32(bytes) !== sum) throw new Error(`${name} is damaged`);
    if (!name.endsWith('/')) files.set(name, bytes);
  }
  return files;
}

/** The hash that devices compute of an unpacked bundle. */
export function packageHash(files) {
  const lines = [...files]
    .map(([name, bytes]) => [name.replaceAll('\\', '/'), bytes])
    .filter(([name]) => !name.startsWith('__MACOSX/') && !/(^|\/)(\.DS_Store|\.codepushrelease)$/.test(name))
    .map(([name, bytes]) => `${name}:${sha256(bytes)}`);
  return sha256(JSON.stringify(lines.sort()));
}
