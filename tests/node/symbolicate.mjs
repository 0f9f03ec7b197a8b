// node symbolicate.mjs PROJECT BUNDLE MAP FILE LINE
//
// Reads a stack trace of bytecode as people do, with the project's own metro-symbolicate: the places at which FILE:LINE throws. Prints its lines. A map of
// the bundler alone, or of Hermes alone, has no such place.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [project, bundle, mapFile, file, line] = process.argv.slice(2);
const require = createRequire(path.join(project, 'package.json'));
const { AnyMap, eachMapping } = require('@jridgewell/trace-mapping');

const column = fs.readFileSync(path.join(project, file), 'utf8').split('\n')[line - 1].indexOf('throw');
const places = [];
eachMapping(new AnyMap(JSON.parse(fs.readFileSync(mapFile, 'utf8'))), (mapping) => {
  const isThere = mapping.source?.endsWith(`/${file}`) && mapping.originalLine === Number(line) && mapping.originalColumn === column;
  // Bytecode has one line. The column is the offset in it.
  if (isThere && mapping.generatedLine === 1) places.push(mapping.generatedColumn);
});
if (places.length === 0) throw new Error(`the map has no place for the throw in ${file}:${line}`);
if (Math.max(...places) >= fs.statSync(bundle).size) throw new Error('the map has places beyond the end of the bytecode');

const name = path.basename(bundle);
const trace = places.map((place) => `    at explode (address at ${name}:1:${place})\n`).join('');
const script = path.join(path.dirname(require.resolve('metro-symbolicate/package.json')), 'src/index.js');
process.stdout.write(execFileSync(process.execPath, [script, mapFile], { input: trace, encoding: 'utf8' }));
