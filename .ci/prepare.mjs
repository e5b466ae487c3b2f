/**
 * Makes `node_modules` what `package-lock.json` says, and makes sure that better-sqlite3 really
 * loads: where its prebuilt file cannot be downloaded it is compiled, which takes a minute or two.
 */
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { interrupted, Refusal, run } from './children.mjs';

const PROGRESS_EVERY_MS = 20_000;
const LINES_SHOWN = 25;
const LOADS = "new (require('better-sqlite3'))(':memory:').prepare('select 1').get()";

/** Installs what is missing. Throws Refusal with one clear sentence when it cannot. */
export async function prepare(lock) {
  if (!isInstalled()) {
    console.log(
      'reeve: installing packages (better-sqlite3 may compile from source: 1-2 minutes) ...',
    );
    await npm(lock, ['ci', '--include=dev', '--ignore-scripts=false', '--prefer-offline']);
  }
  if ((await loadsSqlite()).code === 0 || interrupted() !== null) return;
  console.log(
    'reeve: better-sqlite3 does not load on this Node; building it again (1-2 minutes) ...',
  );
  await npm(lock, ['rebuild', '--ignore-scripts=false', 'better-sqlite3']);
  if (interrupted() !== null) return;
  const { code, output } = await loadsSqlite();
  if (code === 0) return;
  console.error(tail(output));
  throw new Refusal('better-sqlite3 was installed but does not load; the lines above say why.');
}

/**
 * True when every package of the lock file is there in its version. npm writes down what it
 * installed as its last step, so an interrupted installation counts as none.
 */
function isInstalled() {
  const wanted = readPackages('package-lock.json');
  if (wanted === null) throw new Refusal('package-lock.json is missing or is not JSON.');
  const present = readPackages('node_modules/.package-lock.json');
  if (present === null) return false;
  return Object.entries(wanted).every(([path, { version, integrity, optional, link }]) => {
    if (path === '' || link) return true;
    const there = present[path];
    // What another platform needs may be absent.
    if (there === undefined) return optional === true;
    return there.version === version && there.integrity === integrity && existsSync(path);
  });
}

function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return null;
  }
}

function loadsSqlite() {
  return run(process.execPath, ['-e', LOADS], { quiet: true });
}

/** Runs npm and tells about it in short lines; what npm wrote is shown only when it fails. */
async function npm(lock, args) {
  const began = Date.now();
  const seconds = () => Math.round((Date.now() - began) / 1000);
  const timer = setInterval(() => {
    console.log(`reeve: still at it (${seconds()} s) ...`);
  }, PROGRESS_EVERY_MS);
  const [command, ...first] = npmCommand();
  const quietly = ['--no-audit', '--no-fund', '--loglevel=error'];
  try {
    const end = await run(command, [...first, ...args, ...quietly, ...nodedir()], {
      quiet: true,
      started: lock.names,
    });
    if (interrupted() !== null) return;
    if (end.code !== 0) throw failed(args[0], end);
    console.log(`reeve: packages are ready (${seconds()} s)`);
  } finally {
    clearInterval(timer);
  }
}

function failed(what, { code, signal, output }) {
  console.error(tail(output));
  const by = signal === null ? `exit code ${code}` : signal;
  const hint = /node-gyp|gyp ERR|better-sqlite3/.test(output)
    ? 'better-sqlite3 could be neither downloaded nor compiled (that takes python3, make, g++ ' +
      "and Node's headers)"
    : 'packages could not be installed (that takes access to the package registry)';
  return new Refusal(`${hint}: npm ${what} ended with ${by}; the lines above say why.`);
}

/** The npm that started us, or the one in the path. */
function npmCommand() {
  const path = process.env.npm_execpath ?? '';
  return basename(path) === 'npm-cli.js' ? [process.execPath, path] : ['npm'];
}

/**
 * Where Node's own headers lie beside the node binary, compiling needs no download. Only when they
 * are those of this very version, and nobody has set another place.
 */
function nodedir() {
  if (process.env.npm_config_nodedir) return [];
  const prefix = dirname(dirname(process.execPath));
  try {
    const header = readFileSync(join(prefix, 'include/node/node_version.h'), 'utf8');
    const numbers = ['MAJOR', 'MINOR', 'PATCH'].map(
      (part) => header.match(new RegExp(`#define NODE_${part}_VERSION (\\d+)`))?.[1],
    );
    return numbers.join('.') === process.versions.node ? [`--nodedir=${prefix}`] : [];
  } catch {
    return [];
  }
}

function tail(output) {
  return output.trimEnd().split('\n').slice(-LINES_SHOWN).join('\n');
}
