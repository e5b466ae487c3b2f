/**
 * The TypeScript of the documents: found, type-checked against the sources, and run against the
 * build, as a reader would.
 *
 * A block that begins with ```ts is type-checked. Words behind that say more:
 *  - `file=NAME.ts` gives it a name, so that other blocks of the same document can import it;
 *  - `run` executes it, in a folder of its own that holds the document's named blocks, under
 *    `REEVE_DOCS=1`; it has to end with exit code 0;
 *  - a ```text output block right behind it is what it has to print.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const RUN_MS_MAX = 60_000;

export interface Snippet {
  /** Document, from the root. */
  readonly document: string;
  /** Line of the document that holds the snippet's first line, from 1. */
  readonly line: number;
  readonly file: string;
  readonly code: string;
  readonly runs: boolean;
  /** What it has to print, where the document says so. */
  readonly output?: string;
}

/** Every block of a document that begins with ```ts. */
export function snippetsOf(document: string, text: string): readonly Snippet[] {
  const blocks = [...text.matchAll(/^```([^\n]*)\n([\s\S]*?)^```$/gm)];
  return blocks.flatMap(({ 1: info = '', 2: code = '', index }, i) => {
    const [language, ...words] = info.trim().split(/\s+/);
    if (language !== 'ts') return [];
    const line = text.slice(0, index).split('\n').length + 1;
    const name = words.find((word) => word.startsWith('file='))?.slice('file='.length);
    const unknown = words.filter((word) => word !== 'run' && !word.startsWith('file='));
    if (unknown.length > 0) throw new Error(`${document}:${line - 1} says ${unknown.join(' ')}`);
    const next = blocks[i + 1];
    const output = next?.[1]?.trim() === 'text output' ? next[2] : undefined;
    return [
      {
        document,
        line,
        file: name ?? `line-${line}.ts`,
        code,
        runs: words.includes('run'),
        ...(output === undefined ? {} : { output }),
      },
    ];
  });
}

/** `document:line message` of each error the compiler finds in the snippets. */
export function typeErrorsOf(snippets: readonly Snippet[]): readonly string[] {
  const byPath = new Map(snippets.map((snippet) => [pathOf(snippet), snippet]));
  const options = compilerOptions();
  const host = ts.createCompilerHost(options);
  const { readFile, fileExists, directoryExists } = host;
  host.readFile = (path) => byPath.get(path)?.code ?? readFile(path);
  host.fileExists = (path) => byPath.has(path) || fileExists(path);
  const folders = new Set([...byPath.keys()].map((path) => dirname(path)));
  host.directoryExists = (path) => folders.has(path) || (directoryExists?.(path) ?? true);
  const program = ts.createProgram([...byPath.keys()], options, host);
  return [...byPath].flatMap(([path, snippet]) => {
    const source = program.getSourceFile(path);
    return ts.getPreEmitDiagnostics(program, source).map(({ start = 0, messageText }) => {
      const line = (source?.getLineAndCharacterOfPosition(start).line ?? 0) + snippet.line;
      return `${snippet.document}:${line} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
    });
  });
}

/** A place in the tree, so that packages are found; nothing is written there. */
function pathOf({ document, file }: Snippet): string {
  return join(ROOT, 'test/documents', document.replace(/\W/g, '-'), file);
}

/** The project's own options; the package is its sources, so that no build is needed. */
function compilerOptions(): ts.CompilerOptions {
  const read = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(read.config, ts.sys, ROOT);
  return {
    ...options,
    noEmit: true,
    rewriteRelativeImportExtensions: false,
    moduleDetection: ts.ModuleDetectionKind.Force,
    paths: {
      reeve: [join(ROOT, 'src/index.ts')],
      'reeve/*': [join(ROOT, 'src/*/index.ts')],
    },
  };
}

/** What is wrong with how a snippet ran; undefined when it did what the document says. */
export async function faultOf(
  snippet: Snippet,
  neighbours: readonly Snippet[],
): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-docs-'));
  try {
    layOut(folder, [...neighbours, snippet]);
    const { code, output } = await execute(folder, snippet.file);
    const at = `${snippet.document}:${snippet.line}`;
    if (code !== 0) return `${at} ended with ${code ?? 'a signal'}:\n${output}`;
    if (snippet.output === undefined || snippet.output.trim() === output.trim()) return undefined;
    return `${at} printed\n${output.trim()}\nand not\n${snippet.output.trim()}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A package that depends on Reeve and on what Reeve depends on. */
function layOut(folder: string, snippets: readonly Snippet[]): void {
  const packages = join(folder, 'node_modules');
  mkdirSync(packages);
  symlinkSync(ROOT, join(packages, 'reeve'));
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (!name.startsWith('.')) {
      symlinkSync(join(ROOT, 'node_modules', name), join(packages, name));
    }
  }
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}\n');
  for (const { file, code } of snippets) writeFileSync(join(folder, file), code);
}

function execute(
  folder: string,
  file: string,
): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--import', 'tsx', file], {
      cwd: folder,
      env: { ...process.env, REEVE_DOCS: '1', NODE_OPTIONS: '' },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: RUN_MS_MAX,
      killSignal: 'SIGKILL',
    });
    const output: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => output.push(chunk));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output: Buffer.concat(output).toString() }));
  });
}
