/** The package as others get it: packed, unpacked beside its dependencies, typed, imported, run. */
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const manifest = JSON.parse(fs.readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly exports: Readonly<Record<string, unknown>>;
};
const BUILD_MS = 120_000;
const TSCONFIG = {
  compilerOptions: {
    ...{ module: 'nodenext', target: 'es2023', strict: true },
    // The package's own types are to be right too, with nothing but those of Node beside them.
    ...{ skipLibCheck: false, types: ['node'], noEmit: true },
  },
  files: ['main.ts'],
};

let home = '';
const run = (command: string, ...args: string[]): string => {
  const { stdout, stderr } = spawnSync(command, args, { cwd: home, encoding: 'utf8' });
  return stdout + stderr;
};
const node = (...args: string[]): string => run(process.execPath, ...args);

beforeAll(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'reeve-package-'));
  const modules = join(home, 'node_modules');
  fs.mkdirSync(join(modules, '@types'), { recursive: true });
  // Builds first, when the sources are newer than what is built.
  run('npm', 'pack', '--silent', '--pack-destination', home, ROOT);
  run(
    'tar',
    'xzf',
    `reeve-${manifest.version}.tgz`,
    '--transform',
    's,^package,node_modules/reeve,',
  );
  for (const name of fs.readdirSync(join(ROOT, 'node_modules'))) {
    const isShown = !name.startsWith('.') && name !== '@types' && name !== 'reeve';
    if (isShown) fs.symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  }
  fs.symlinkSync(join(ROOT, 'node_modules/@types/node'), join(modules, '@types/node'));
  fs.writeFileSync(join(home, 'package.json'), '{"type":"module"}');
}, BUILD_MS);

afterAll(() => {
  fs.rmSync(home, { recursive: true, force: true });
});

describe('the package', () => {
  test('holds what was built and nothing of how', () => {
    const files = fs.readdirSync(join(home, 'node_modules/reeve'), {
      recursive: true,
      encoding: 'utf8',
    });
    expect(files).toEqual(expect.arrayContaining(['package.json', 'dist/src/index.d.ts']));
    expect(files.filter((path) => /tsbuildinfo|\.test\.|^test|^\.ci/.test(path))).toEqual([]);
  });

  test('is imported with its types by each entry, without types of its dependencies', () => {
    const entries = Object.keys(manifest.exports).filter((entry) => !entry.endsWith('.json'));
    const lines = entries.map((entry, i) => {
      const name = entry.replace(/^\./, 'reeve');
      return `import * as entry${i} from '${name}';\nconsole.log(Object.keys(entry${i}).length > 0);`;
    });
    const wrong =
      "import { createRuntime } from 'reeve';\nexport const wrong: string = createRuntime;";
    fs.writeFileSync(join(home, 'main.ts'), lines.join('\n'));
    fs.writeFileSync(join(home, 'wrong.ts'), wrong);
    fs.writeFileSync(join(home, 'tsconfig.json'), JSON.stringify(TSCONFIG));
    fs.writeFileSync(
      join(home, 'wrong.json'),
      JSON.stringify({ extends: './tsconfig.json', files: ['wrong.ts'] }),
    );
    expect(node('node_modules/typescript/bin/tsc', '-p', '.')).toBe('');
    expect(node('node_modules/typescript/bin/tsc', '-p', 'wrong.json')).toContain('TS2322');
    fs.writeFileSync(join(home, 'main.js'), lines.join('\n'));
    expect(node('main.js')).toBe('true\n'.repeat(entries.length));
  });

  test('has the command `reeve`, which tells its version', () => {
    expect(node('node_modules/reeve/dist/actors/main.js', '--version').trim()).toBe(
      manifest.version,
    );
  });
});
