// Loads the unmodified JavaScript of an SDK, in new modules each time, as when an app starts.

import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileFunction } from 'node:vm';
import { buildSync } from 'esbuild';

const require = createRequire(import.meta.url);
const here = dirname(fileURLToPath(import.meta.url));
const bundles = new Map();

/** The version of an installed npm package. */
export const version = (name) => require(`${name}/package.json`).version;

/** What `source` exports. `modules` are its native modules, `globals` its global variables besides those of JavaScript. */
export function load(source, modules, globals) {
  if (!bundles.has(source)) {
    const { outputFiles } = buildSync({
      stdin: { contents: source, resolveDir: here },
      bundle: true,
      format: 'cjs',
      // React Native's packages contain JSX.
      loader: { '.js': 'jsx' },
      external: Object.keys(modules),
      write: false,
      logLevel: 'error',
    });
    bundles.set(source, outputFiles[0].text);
  }
  const module = { exports: {} };
  const find = (name) => {
    if (!(name in modules)) throw new Error(`no such module: ${name}`);
    return modules[name];
  };
  const scope = { console: quiet, ...globals };
  const run = compileFunction(bundles.get(source), ['require', 'module', 'exports', ...Object.keys(scope)]);
  run(find, module, module.exports, ...Object.values(scope));
  return module.exports;
}

// Standard output has the answers to commands.
const quiet = { log() {}, warn() {}, error() {} };
