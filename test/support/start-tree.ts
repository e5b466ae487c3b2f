/**
 * A small tree with the real `.ci` scripts and compiler in it, and with an npm, a vitest and a
 * better-sqlite3 that are made up: what installing does on a machine, without a registry.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Notes its arguments, takes a moment, and installs what the lock file says. FAKE_NPM=fail: cannot;
 * FAKE_NPM=broken: better-sqlite3 does not load afterwards, until it is built again.
 */
const NPM = `
  const fs = require('node:fs');
  fs.appendFileSync('npm.log', process.argv.slice(2).join(' ') + '\\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
  if (process.env.FAKE_NPM === 'fail') {
    console.error('gyp ERR! no compiler');
    process.exit(5);
  }
  fs.mkdirSync('node_modules/better-sqlite3', { recursive: true });
  fs.mkdirSync('node_modules/vitest', { recursive: true });
  if (!fs.existsSync('node_modules/typescript')) {
    fs.symlinkSync(${JSON.stringify(join(ROOT, 'node_modules/typescript'))}, 'node_modules/typescript');
  }
  const loads = process.env.FAKE_NPM !== 'broken';
  fs.writeFileSync(
    'node_modules/better-sqlite3/index.js',
    loads ? 'module.exports = class { prepare() { return { get() {} }; } };' : 'throw Error("no");',
  );
  fs.writeFileSync('node_modules/vitest/vitest.mjs', fs.readFileSync('fake-vitest.mjs'));
  const { packages } = JSON.parse(fs.readFileSync('package-lock.json', 'utf8'));
  delete packages['node_modules/of-another-platform'];
  fs.writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages }));
`;

/** Prints its arguments; ends as the last of them says. */
const VITEST = `
  console.log('ran', process.argv.slice(2).join(' '));
  const how = process.argv.at(-1);
  if (how === 'wait') {
    const hold = setInterval(() => {}, 1000);
    process.on('SIGTERM', () => { clearInterval(hold); process.exitCode = 7; });
  } else if (how === 'killed') process.kill(process.pid, 'SIGKILL');
  else process.exitCode = Number(how) || 0;
`;

/** With the smallest library, so that a compilation is short. */
const TSCONFIG = {
  compilerOptions: {
    ...{ rootDir: '.', outDir: 'dist', declaration: true, sourceMap: true },
    ...{ target: 'es2022', lib: ['es5'], types: [], skipLibCheck: true },
  },
  include: ['src'],
};

/** Makes such a tree; returns its folder. Nothing is installed in it yet. */
export function makeTree(): string {
  const tree = mkdtempSync(join(tmpdir(), 'reeve-start-'));
  cpSync(join(ROOT, '.ci'), join(tree, '.ci'), { recursive: true });
  put(tree, 'npm-cli.js', NPM);
  put(tree, 'fake-vitest.mjs', VITEST);
  put(tree, 'tsconfig.json', JSON.stringify(TSCONFIG));
  put(tree, 'src/one.ts', 'export const one = 1;\n');
  lockVersion(tree, '1.0.0');
  return tree;
}

/** The lock file asks for this version of better-sqlite3, and for a package of another platform. */
export function lockVersion(tree: string, version: string): void {
  const packages = {
    '': {},
    'node_modules/better-sqlite3': { version, integrity: 'sha512-x' },
    'node_modules/of-another-platform': { version: '1.0.0', optional: true },
  };
  put(tree, 'package-lock.json', JSON.stringify({ packages }));
}

export function put(tree: string, path: string, text: string): void {
  mkdirSync(dirname(join(tree, path)), { recursive: true });
  writeFileSync(join(tree, path), text);
}

/** The arguments of each run of npm so far. */
export function npmRuns(tree: string): readonly string[] {
  const log = join(tree, 'npm.log');
  return existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n') : [];
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
}

export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves when the output holds `text`. */
  says(text: string): Promise<void>;
}

/** Starts `.ci/start.mjs` with these arguments. */
export function start(
  tree: string,
  args: readonly string[],
  { env = {}, node = [] }: { env?: Record<string, string>; node?: readonly string[] } = {},
): Started {
  const { npm_config_nodedir: _, ...inherited } = process.env;
  const child = spawn(process.execPath, [...node, '.ci/start.mjs', ...args], {
    cwd: tree,
    env: { ...inherited, npm_execpath: join(tree, 'npm-cli.js'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const waiting = new Map<string, () => void>();
  const hear = (chunk: Buffer): void => {
    output += chunk.toString();
    for (const [text, resolve] of waiting) if (output.includes(text)) resolve();
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  return {
    child,
    ended: new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code, signal) => resolve({ code, signal, output }));
    }),
    says: (text) => new Promise((resolve) => void waiting.set(text, resolve)),
  };
}
