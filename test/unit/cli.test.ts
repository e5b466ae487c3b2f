/** The command line: what it prints, where, and with which exit code. */
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import type { CliNeeds, DemoOptions } from '../../src/cli/cli-needs.ts';
import { CLI_EXIT_CODES } from '../../src/cli/exit-codes.ts';
import { ReeveError } from '../../src/model/errors.ts';
import { EXIT_CODES } from '../../src/world/process-exit.ts';

const SUPPORT = fileURLToPath(new URL('../support', import.meta.url));

interface Run {
  readonly code: number;
  readonly printed: string;
  readonly warned: readonly string[];
  readonly demos: readonly DemoOptions[];
}

async function run(line: string, needs: Partial<CliNeeds> = {}): Promise<Run> {
  const printed: string[] = [];
  const warned: string[] = [];
  const demos: DemoOptions[] = [];
  const code = await runCli(line.split(' ').filter(Boolean), {
    version: '1.2.3',
    directory: SUPPORT,
    print: (text) => printed.push(text),
    warn: (text) => warned.push(text),
    ownMachines: () => import('../../machines/index.ts'),
    demo: async (options) => {
      demos.push(options);
      return Promise.resolve(0);
    },
    ...needs,
  });
  return { code, printed: printed.join('\n'), warned, demos };
}

describe('reeve', () => {
  it.each(['--help', 'help', 'demo --help', 'machine --help', 'machine export --help'])(
    '%s shows examples or commands and ends with 0',
    async (line) => {
      const { code, printed, warned } = await run(line);
      expect([code, warned]).toEqual([0, []]);
      expect(printed).toMatch(/Examples:|Commands:/);
    },
  );

  it('--version says which', async () => {
    expect(await run('--version')).toMatchObject({ code: 0, printed: '1.2.3' });
  });

  it.each([
    ['', 'a command is missing; see --help'],
    ['machine', 'a command is missing; see --help'],
    ['dmeo', "unknown command 'dmeo' (Did you mean demo?)"],
    ['--what', "unknown option '--what'"],
    ['demo --filez 3', "unknown option '--filez' (Did you mean --files?)"],
    ['demo extra', /too many arguments/],
    ['machine export', "missing required argument 'name'"],
    [
      'machine export x --format svg',
      "there is no format 'svg'; give one of json, mermaid, xstate",
    ],
    ['machine list --from', /argument missing/],
    ['demo --files 59', "--files takes a whole number from 60 to 10000, not '59'"],
    ['demo --bytes 1e3', "--bytes takes a whole number from 1 to 16777216, not '1e3'"],
  ])('%j is wrong usage: one line with a code, and exit code 2', async (line, message) => {
    const { code, printed, warned } = await run(line);
    expect([code, printed, warned.length]).toEqual([2, '', 1]);
    expect(warned[0]).toMatch(/^reeve: USAGE_INVALID: [^\n]+$/);
    expect(warned[0]).toMatch(message);
  });

  it('tells an error with a code in one line and ends with 1', async () => {
    const demo = async () => Promise.reject(new ReeveError('STORE_LOCKED', 'held by 7'));
    expect(await run('demo', { demo })).toMatchObject({
      code: 1,
      warned: ['reeve: STORE_LOCKED: held by 7'],
    });
  });

  it('does not dress up a defect as an error of the user', async () => {
    const demo = async () => Promise.reject(new TypeError('x is no function'));
    await expect(run('demo', { demo })).rejects.toThrow('x is no function');
  });
});

describe('reeve demo', () => {
  it('has defaults, takes numbers, and ends with the code of the demo', async () => {
    const { demos } = await run('demo');
    const standard = { dir: './reeve-data/demo', files: 480, bytes: 131_072 };
    expect(demos).toEqual([{ ...standard, quiet: false, json: false }]);
    const given = await run('demo --dir /d --files 60 --bytes 1 --quiet --json');
    expect(given.demos).toEqual([{ dir: '/d', files: 60, bytes: 1, quiet: true, json: true }]);
    expect(await run('demo', { demo: async () => Promise.resolve(1) })).toMatchObject({ code: 1 });
  });
});

describe('reeve machine list', () => {
  it("shows Reeve's own machines", async () => {
    expect(await run('machine list')).toMatchObject({
      code: 0,
      printed: 'hash-directory  version 1  3 states  export hashDirectory',
    });
  });

  it('shows those of a module, by path from the working directory or by URL', async () => {
    for (const from of ['./exported-machines.ts', `file://${SUPPORT}/exported-machines.ts`]) {
      const { code, printed } = await run(`machine list --from ${from}`);
      expect([code, printed.split('\n')]).toEqual([
        0,
        [
          'a "b": c  5 states  export awkward',
          'everything  version 2  2 states  export everything',
        ],
      ]);
    }
  });
});

describe('reeve machine export', () => {
  it('writes a state diagram, the config or the definition', async () => {
    const mermaid = await run('machine export hash-directory');
    expect(mermaid.printed).toMatch(
      /^---\ntitle: "hash-directory, version 1"\n---\nstateDiagram-v2/,
    );
    const config = JSON.parse((await run('machine export hash-directory --format xstate')).printed);
    expect(config).toMatchObject({ id: 'hash-directory', states: { hashing: { invoke: {} } } });
    const json = JSON.parse((await run('machine export hashDirectory --format json')).printed);
    expect(json.states.folding.transitions).toEqual([
      { event: '', guard: { type: 'isComplete' }, target: ['hash-directory.done'] },
      { event: '', target: ['hash-directory.hashing'] },
    ]);
  });

  it('takes the name of an export where ids do not tell machines apart', async () => {
    const from = '--format xstate --from ./machines-alike.ts';
    const both = await run(`machine export same ${from}`);
    expect(both).toMatchObject({ code: 2 });
    expect(both.warned[0]).toBe(
      "reeve: MACHINE_UNKNOWN: ./machines-alike.ts has several machines 'same': " +
        'give the name of an export: first, second',
    );
    const one = await run(`machine export second ${from}`);
    expect(JSON.parse(one.printed)).toMatchObject({ initial: 'b' });
  });

  it.each([
    ['nope', "MACHINE_UNKNOWN: Reeve has no machine 'nope'; it has: hash-directory"],
    ['x --from ./gone.js', `MODULE_INVALID: ./gone.js: there is no file ${SUPPORT}/gone.js`],
    ['x --from ./tidy-words.ts', 'MODULE_INVALID: ./tidy-words.ts: the module exports no XState'],
    [
      'x --from ./task-module-broken.ts',
      'MODULE_INVALID: ./task-module-broken.ts: it cannot be lo',
    ],
  ])('%s is refused in one line, with exit code 2', async (args, message) => {
    const { code, warned, printed } = await run(`machine export ${args}`);
    expect([code, printed, warned.length]).toEqual([2, '', 1]);
    expect(warned[0]?.startsWith(`reeve: ${message}`), warned[0]).toBe(true);
    expect(warned[0]).not.toContain('\n');
  });
});

it('the exit codes are those of docs/errors.md', () => {
  const page = readFileSync(
    fileURLToPath(new URL('../../docs/errors.md', import.meta.url)),
    'utf8',
  );
  const section = page.slice(page.indexOf('## Exit codes'));
  const codes = [...section.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
  const signals = (['SIGHUP', 'SIGINT', 'SIGPIPE', 'SIGTERM'] as const).map(
    (name) => constants.signals[name],
  );
  expect(codes).toEqual([
    ...Object.values(CLI_EXIT_CODES),
    ...Object.values(EXIT_CODES),
    ...signals.map((signal) => 128 + signal),
  ]);
});
