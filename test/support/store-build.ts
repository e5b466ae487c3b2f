/**
 * Builds the store and a program of the tests to JavaScript, as the published package is, so that
 * a child process starts fast and its threads run the `.js` programs.
 */
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ROOMS = ['src/model', 'src/codec', 'src/world', 'src/store'];

/**
 * Builds `program`, a file of `test/support`, with what it stands on.
 *
 * @returns path of the built program; the caller removes the directory above `test`
 */
export function buildStoreProgram(program: string): {
  readonly path: string;
  readonly root: string;
} {
  const root = mkdtempSync(join(tmpdir(), 'reeve-build-'));
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  writeFileSync(join(root, 'package.json'), '{"type":"module"}');
  for (const room of ROOMS) {
    for (const name of readdirSync(join(ROOT, room))) {
      if (name.endsWith('.ts')) build(root, join(room, name));
    }
  }
  build(root, join('test/support', 'store-groups.ts'));
  return { path: build(root, join('test/support', program)), root };
}

function build(root: string, path: string): string {
  const { outputText } = ts.transpileModule(readFileSync(join(ROOT, path), 'utf8'), {
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
      rewriteRelativeImportExtensions: true,
    },
    fileName: path,
  });
  const target = join(root, path.replace(/\.ts$/, '.js'));
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, outputText);
  return target;
}
