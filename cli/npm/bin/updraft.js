#!/usr/bin/env node
// Starts the program `updraft` from the package for this platform, which npm installs as an optional dependency. Nothing is downloaded here.
'use strict';

const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const { optionalDependencies = {} } = require('../package.json');

const platform = `${process.platform}-${process.arch}`;
const name = `updraft-cli-${platform}`;

function find() {
  try {
    return require.resolve(`${name}/bin/updraft${process.platform === 'win32' ? '.exe' : ''}`);
  } catch {
    return undefined;
  }
}

// Whether this is a Linux without glibc, such as Alpine. The programs for Linux need glibc.
function isMusl() {
  if (process.platform !== 'linux') return false;
  // Without it, the report can wait for name servers.
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime === undefined;
}

function refuse() {
  const isOther = isMusl();
  const isBuilt = Object.hasOwn(optionalDependencies, name) && !isOther;
  const here = isOther ? `${platform} without glibc` : platform;
  console.error(isBuilt ? `error: the package ${name} is not installed` : `error: there is no program for ${here} in this package`);
  console.error(
    isBuilt
      ? '  next: Install again without --omit=optional and --no-optional.'
      : '  next: Build it with Rust: in a clone of Updraft, run `cargo install --locked --path cli`.',
  );
  process.exit(1);
}

const program = find() ?? refuse();
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit', windowsHide: true });
child.on('error', (error) => {
  if (isMusl()) refuse();
  console.error(`error: cannot start ${program}: ${error.message}`);
  console.error('  next: Install the package again.');
  process.exit(1);
});
// Signals are passed on: the program says what it leaves behind. A terminal sends Ctrl-C to both, and the program takes only the first one. On Windows,
// the console does that as well, and `kill` would end the program at once.
process.on('SIGINT', () => {
  if (process.platform !== 'win32') child.kill('SIGINT');
});
for (const signal of ['SIGTERM', 'SIGHUP', 'SIGQUIT']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
