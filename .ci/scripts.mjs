/** What each npm script does, as a list of steps. The first step that fails ends the list. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { endAs, interrupted, Refusal, run } from './children.mjs';
import { withTreeLock } from './lock.mjs';
import { prepare } from './prepare.mjs';

const PRETTIER = 'node_modules/prettier/bin/prettier.cjs';
const ESLINT = 'node_modules/eslint/bin/eslint.js';
const TSC = 'node_modules/typescript/bin/tsc';
const VITEST = 'node_modules/vitest/vitest.mjs';
const PROGRAM = 'dist/actors/main.js';
const BENCH = 'bench/main.ts';

/** Files for Node to run behind installing (and building), with their arguments. */
const SCRIPTS = {
  build: { builds: true, commands: () => [] },
  demo: { builds: true, commands: (rest) => [[PROGRAM, 'demo', ...rest]] },
  test: { builds: true, commands: (rest) => [[VITEST, 'run', ...rest]] },
  bench: { builds: true, commands: (rest) => [['--import=tsx', BENCH, ...rest]] },
  check: { builds: false, commands: () => [...FORMAT, ...TYPES, ...LINT] },
  'check:format': { builds: false, commands: () => FORMAT },
  'check:types': { builds: false, commands: () => TYPES },
  'check:lint': { builds: false, commands: () => LINT },
  format: { builds: false, commands: () => [[PRETTIER, '--write', '--log-level=warn', '.']] },
};
const FORMAT = [[PRETTIER, '--check', '--log-level=warn', '.']];
const TYPES = [
  [TSC, '--noEmit', '-p', '.'],
  [TSC, '--noEmit', '-p', 'test'],
];
const LINT = [[ESLINT, '--max-warnings=0', '.']];

export async function main([name = '', ...rest]) {
  process.chdir(fileURLToPath(new URL('..', import.meta.url)));
  try {
    endAs(await perform(name, rest));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (interrupted() === null) console.error(`reeve: ${error.message}`);
    endAs(interrupted() ?? { code: 1, signal: null });
  }
}

async function perform(name, rest) {
  if (!Object.hasOwn(SCRIPTS, name)) {
    throw new Refusal(`give one of these scripts: ${Object.keys(SCRIPTS).join(', ')}.`);
  }
  const { builds, commands } = SCRIPTS[name];
  await withTreeLock(async (lock) => {
    await prepare(lock);
    if (builds && interrupted() === null) await build(lock);
  });
  let end = interrupted() ?? { code: 0, signal: null };
  for (const command of commands(rest)) {
    if (end.code !== 0) break;
    const file = command.find((word) => !word.startsWith('--'));
    if (!existsSync(file)) throw new Refusal(`${file} is missing, so '${name}' cannot run.`);
    end = await run(process.execPath, command);
  }
  return end;
}
