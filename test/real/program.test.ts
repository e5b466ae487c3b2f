/** The program as a process: what it loads, and how it ends. */
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { startProgram } from '../support/program-run.ts';

const SUPPORT = fileURLToPath(new URL('../support', import.meta.url));

/** Tells every module that is loaded, `import` or `require`, on standard error. */
const LISTENER = `data:text/javascript,${encodeURIComponent(`
  import { register, Module } from 'node:module';
  const load = Module._load;
  Module._load = function (name, ...rest) {
    process._rawDebug('LOADED ' + name);
    return load.call(this, name, ...rest);
  };
  register('data:text/javascript,' + encodeURIComponent(\`
    import { writeSync } from 'node:fs';
    export async function load(url, context, next) {
      writeSync(2, 'LOADED ' + url + '\\\\n');
      return next(url, context);
    }\`));
`)}`;

async function loadedBy(...args: string[]): Promise<{ code: number | null; loaded: string[] }> {
  const { code, err } = await startProgram(args, { nodeArgs: ['--import', LISTENER] }).ended();
  const loaded = [...err.matchAll(/^LOADED (.*)$/gm)].map(([, name]) => name ?? '');
  return { code, loaded };
}

describe('the program', () => {
  const heavy = /better-sqlite3|piscina|src\/(?:runtime|store|threads)\//;

  it.each([
    ['--help'],
    ['machine', 'list'],
    ['machine', 'export', 'hash-directory', '--format', 'json'],
  ])('loads no store, no pool and no native module for %s %s', async (...args) => {
    const { code, loaded } = await loadedBy(...args);
    expect(code).toBe(0);
    expect(loaded.some((name) => /commander/.test(name))).toBe(true);
    expect(loaded.filter((name) => heavy.test(name))).toEqual([]);
  });

  it('loads no machine for --help, and the stores for a demo only', async () => {
    const help = await loadedBy('--help');
    expect(help.loaded.filter((name) => /xstate|machines\//.test(name))).toEqual([]);
    const demo = await loadedBy('demo', '--dir', '/dev/null/nowhere');
    expect(demo.code).toBe(1);
    expect(demo.loaded.filter((name) => heavy.test(name))).not.toEqual([]);
  });

  it('ends though a module it was given keeps something running', async () => {
    const run = startProgram(['machine', 'list', '--from', './machines-restless.ts'], {
      cwd: SUPPORT,
    });
    expect(await run.ended()).toMatchObject({
      code: 0,
      out: 'restless  1 state  export restless\n',
      err: '',
    });
  });

  it('ends quietly when nobody reads what it prints', async () => {
    const run = startProgram(['machine', 'export', 'hash-directory', '--format', 'json']);
    run.child.stdout?.destroy();
    expect(await run.ended()).toMatchObject({ code: 141, err: '' });
  });

  it('is in the directory it is started in', async () => {
    const args = ['machine', 'export', 'second', '--from', 'machines-alike.ts'];
    const { code, out } = await startProgram(args, { cwd: SUPPORT }).ended();
    expect(code).toBe(0);
    expect(out).toContain('[*] --> b');
  });
});
