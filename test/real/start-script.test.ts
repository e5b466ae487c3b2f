/** The door of the npm scripts: what it installs, builds and passes on, on real processes. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { lockVersion, makeTree, npmRuns, put, start } from '../support/start-tree.ts';

const INSTALLS = 'installing packages (better-sqlite3 may compile from source: 1-2 minutes) ...';
const CI = 'ci --include=dev --ignore-scripts=false --prefer-offline';

let tree = '';
beforeEach(() => {
  tree = makeTree();
});
afterEach(() => {
  rmSync(tree, { recursive: true, force: true });
});

describe('installing', () => {
  test('happens when node_modules is absent or not what the lock file says, else not', async () => {
    const first = await start(tree, ['test', 'a', 'b c']).ended;
    expect(first.output).toContain(INSTALLS);
    expect(first.output).toContain('packages are ready');
    expect(first.output).toContain('ran run a b c');
    expect(first.code).toBe(0);
    const second = await start(tree, ['test']).ended;
    expect(second.output).toBe('ran run\n');
    expect(npmRuns(tree)).toHaveLength(1);
    lockVersion(tree, '1.0.1');
    expect((await start(tree, ['test']).ended).output).toContain(INSTALLS);
    rmSync(join(tree, 'node_modules/better-sqlite3'), { recursive: true });
    expect((await start(tree, ['test']).ended).output).toContain(INSTALLS);
    expect(npmRuns(tree)).toHaveLength(3);
  });

  test('is done by one of two scripts that start together', async () => {
    const both = [start(tree, ['test', 'one']), start(tree, ['test', 'two'])];
    const ends = await Promise.all(both.map(({ ended }) => ended));
    expect(ends.map(({ code }) => code)).toEqual([0, 0]);
    expect(ends.filter(({ output }) => output.includes('waiting for it'))).toHaveLength(1);
    expect(npmRuns(tree)).toHaveLength(1);
    expect(leftBehind()).toEqual([]);
  });

  test('takes over from a script that was killed', async () => {
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    put(tree, '.reeve-lock/owner', `${pid}:1`);
    const { code, output } = await start(tree, ['build']).ended;
    expect({ code, waited: output.includes(`process ${pid} is preparing`) }).toEqual({
      code: 0,
      waited: true,
    });
    expect(leftBehind()).toEqual([]);
  });

  test('does not take a process for the killed one because it has got its number', async () => {
    put(tree, '.reeve-lock/owner', `${process.pid}:1`);
    expect((await start(tree, ['build']).ended).code).toBe(0);
  });

  test('waits while the npm of a killed script is still at work', async () => {
    const killed = start(tree, ['build']);
    await killed.says('installing packages');
    while (npmRuns(tree).length === 0) await pause();
    killed.child.kill('SIGKILL');
    await killed.ended;
    const { output } = await start(tree, ['build']).ended;
    expect(output).toContain('is preparing this tree');
    expect(npmRuns(tree)).toHaveLength(1);
  });

  test('that fails shows what npm said and ends with one sentence', async () => {
    const { code, output } = await start(tree, ['demo'], { env: { FAKE_NPM: 'fail' } }).ended;
    expect(code).toBe(1);
    expect(output).toContain('gyp ERR! no compiler');
    expect(output).toMatch(
      /reeve: better-sqlite3 could be neither downloaded nor compiled .*ended with exit code 5/,
    );
    expect(leftBehind()).toEqual([]);
  });

  test('counts only when better-sqlite3 loads; else it is built again, once', async () => {
    const { code, output } = await start(tree, ['demo'], { env: { FAKE_NPM: 'broken' } }).ended;
    expect(code).toBe(1);
    expect(output).toContain('better-sqlite3 does not load on this Node; building it again');
    expect(output).toContain('better-sqlite3 was installed but does not load');
    expect(npmRuns(tree).map((args) => args.split(' ')[0])).toEqual(['ci', 'rebuild']);
    expect((await start(tree, ['build']).ended).code).toBe(0);
    expect(npmRuns(tree)[2]).toMatch(/^rebuild --ignore-scripts=false better-sqlite3 /);
  });

  test("names Node's headers where they lie beside it, unless a place was set", async () => {
    const prefix = dirname(dirname(process.execPath));
    const lie = existsSync(join(prefix, 'include/node/node_version.h'));
    await start(tree, ['build']).ended;
    expect(npmRuns(tree)[0]).toContain(CI);
    expect(npmRuns(tree)[0]?.includes(`--nodedir=${prefix}`)).toBe(lie);
    lockVersion(tree, '2.0.0');
    await start(tree, ['build'], { env: { npm_config_nodedir: '/elsewhere' } }).ended;
    expect(npmRuns(tree)[1]).not.toContain('--nodedir');
  });

  test('is not begun on a Node that is too old', async () => {
    const older = '{value:{...process.versions,node:"20.18.3"}}';
    const pretend = `data:text/javascript,Object.defineProperty(process,"versions",${older})`;
    const { code, output } = await start(tree, ['test'], { node: [`--import=${pretend}`] }).ended;
    expect({ code, output }).toEqual({
      code: 1,
      output: 'reeve: this is Node 20.18.3; Node 20.19 or newer is needed.\n',
    });
  });
});

describe('building', () => {
  test('leaves no file of a source that is gone, and replaces one that is missing', async () => {
    put(tree, 'src/deep/two.ts', 'export const two = 2;\n');
    await start(tree, ['build']).ended;
    expect(dist()).toEqual(outputsOf('one').concat(outputsOf('deep/two')).sort());
    rmSync(join(tree, 'src/deep'), { recursive: true });
    rmSync(join(tree, 'dist/src/one.d.ts'));
    await start(tree, ['build']).ended;
    expect(dist()).toEqual(outputsOf('one').sort());
  });

  test('that fails ends the script before it runs anything, with the errors of tsc', async () => {
    put(tree, 'src/one.ts', 'export const one: string = 1;\n');
    const { code, output } = await start(tree, ['test']).ended;
    expect(code).toBe(1);
    expect(output).toContain('src/one.ts(1,14): error TS2322');
    expect(output).toContain('reeve: the sources do not compile');
    expect(output).not.toContain('ran run');
    expect(dist()).toEqual([]);
  });
});

describe('what was run', () => {
  test('gives the script its exit code, or the signal that killed it', async () => {
    expect(await start(tree, ['test', '42']).ended).toMatchObject({ code: 42, signal: null });
    const killed = await start(tree, ['test', 'killed']).ended;
    expect(killed).toMatchObject({ code: null, signal: 'SIGKILL' });
  });

  test('gets the signals that are sent to the script, and may still end as it likes', async () => {
    const started = start(tree, ['test', 'wait']);
    await started.says('ran run wait');
    await pause();
    started.child.kill('SIGTERM');
    expect(await started.ended).toMatchObject({ code: 7, signal: null });
  });

  test('is not begun when a signal came before it', async () => {
    const started = start(tree, ['test']);
    await started.says('installing packages');
    started.child.kill('SIGTERM');
    const { code, signal, output } = await started.ended;
    expect({ code, signal }).toEqual({ code: null, signal: 'SIGTERM' });
    expect(output).not.toContain('ran run');
    expect(leftBehind()).toEqual([]);
  });

  test('has to be a script that exists', async () => {
    const { code, output } = await start(tree, ['constructor']).ended;
    expect({ code, sentence: output.startsWith('reeve: give one of') }).toEqual({
      code: 1,
      sentence: true,
    });
  });
});

describe('the closing line of .ci/run', () => {
  const counted = (report?: object): string => {
    if (report !== undefined) put(tree, 'report.json', JSON.stringify(report));
    const args = ['.ci/count-tests.mjs', 'report.json'];
    return spawnSync(process.execPath, args, { cwd: tree, encoding: 'utf8' }).stdout;
  };

  test('counts tests, and each file that could not be loaded as one that failed', () => {
    const failed = { status: 'failed', assertionResults: [{ status: 'failed' }] };
    const unloaded = { status: 'failed', assertionResults: [] };
    const passed = { status: 'passed', assertionResults: [{ status: 'passed' }] };
    const report = { numPassedTests: 5, numFailedTests: 1 };
    expect(counted({ ...report, testResults: [failed, unloaded, passed] })).toBe('5 2\n');
  });

  test('counts nothing without a report', () => {
    expect(counted()).toBe('0 0\n');
  });
});

function dist(): readonly string[] {
  const folder = join(tree, 'dist');
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(?:ts|js|map)$/.test(path))
    .sort();
}

function outputsOf(stem: string): string[] {
  return ['.d.ts', '.js', '.js.map'].map((extension) => `src/${stem}${extension}`);
}

/** Locks that are still there. */
function leftBehind(): readonly string[] {
  return readdirSync(tree).filter((name) => name.startsWith('.reeve-lock'));
}

function pause(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, 50));
}
