/** The README's program, as a reader has it: compiled, killed, started again. */
import { createHash } from 'node:crypto';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ts from 'typescript';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { snippetsOf } from '../support/docs-snippets.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FILES = 60;

let folder = '';

/** A package of the reader's: the README's files compiled, Reeve from its sources. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reeve-readme-'));
  const reeve = join(folder, 'node_modules/reeve');
  mkdirSync(reeve, { recursive: true });
  symlinkSync(join(ROOT, 'node_modules/xstate'), join(folder, 'node_modules/xstate'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(reeve, 'package.json'), '{"type":"module","exports":"./index.js"}');
  const index = pathToFileURL(join(ROOT, 'src/index.ts')).href;
  writeFileSync(join(reeve, 'index.js'), `export * from '${index}';\n`);
  for (const { file, code } of snippetsOf('README.md', readFileSync(`${ROOT}README.md`, 'utf8'))) {
    const { outputText } = ts.transpileModule(code, {
      compilerOptions: {
        target: ts.ScriptTarget.ES2023,
        module: ts.ModuleKind.ESNext,
        rewriteRelativeImportExtensions: true,
      },
    });
    writeFileSync(join(folder, file.replace(/\.ts$/, '.js')), outputText);
  }
  mkdirSync(join(folder, 'photos'));
  for (let i = 0; i < FILES; i++) {
    // Large enough that a batch takes a while.
    writeFileSync(join(folder, 'photos', `photo-${String(i).padStart(2, '0')}`), contentOf(i));
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function contentOf(i: number): Buffer {
  return Buffer.alloc(400_000, i);
}

function start() {
  const args = ['--import', import.meta.resolve('tsx'), 'hash.js', 'photos'];
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  const ended = new Promise<{ code: number | null; out: string }>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out }));
  });
  return { child, ended };
}

it('hashes a directory, though it is killed as soon as it has begun', async () => {
  const sha256 = (data: Buffer | string): string => createHash('sha256').update(data).digest('hex');
  let digest = '';
  for (let i = 0; i < FILES; i++) {
    const own = sha256(contentOf(i));
    digest = sha256(`${digest} ${own} photo-${String(i).padStart(2, '0')}`);
  }

  const first = start();
  first.child.stdout.once('data', () => first.child.kill('SIGKILL'));
  expect((await first.ended).code).toBeNull();

  const second = await start().ended;
  expect(second.code).toBe(0);
  expect(second.out).toMatch(/^It waits for the task 'hashBatch' \(attempt \d+, submitted\)/);
  expect(second.out.replace(/\s+/g, ' ')).toContain(
    `done { digest: '${digest}', files: ${FILES}, bytes: ${FILES * 400_000} }`,
  );

  const third = await start().ended;
  expect(third.out).toContain('It has ended: done.');
  expect(third.out).toContain(digest);
});
