/** The TypeScript in README.md and docs/ compiles, and what is marked `run` runs. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { faultOf, snippetsOf, typeErrorsOf, type Snippet } from './support/docs-snippets.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TYPES_MS = 60_000;
const RUN_MS = 120_000;

const documents = ['README.md', ...readdirSync(`${ROOT}docs`).map((name) => `docs/${name}`)].filter(
  (path) => path.endsWith('.md') && existsSync(ROOT + path),
);
const snippets = documents.flatMap((path) => snippetsOf(path, readFileSync(ROOT + path, 'utf8')));

describe('the documents', () => {
  test('every snippet compiles', { timeout: TYPES_MS }, () => {
    expect(typeErrorsOf(snippets)).toEqual([]);
  });

  const running = snippets.filter(({ runs }) => runs);
  test.skipIf(running.length === 0).each(running.map((each) => [placeOf(each), each] as const))(
    '%s runs as it says',
    { timeout: RUN_MS },
    async (_, snippet) => {
      const named = snippets.filter(({ document }) => document === snippet.document);
      expect(await faultOf(snippet, named)).toBeUndefined();
    },
  );
});

describe('the check of the documents', () => {
  const block = (info: string, code: string): string => `\`\`\`${info}\n${code}\n\`\`\`\n`;
  const page = (...blocks: string[]): readonly Snippet[] =>
    snippetsOf('docs/page.md', ['# Page\n\nText.\n', ...blocks].join('\n'));
  const only = ([snippet]: readonly Snippet[]): Snippet => {
    if (snippet === undefined) throw new Error('the page holds no snippet');
    return snippet;
  };

  test('takes blocks of ts only, and refuses words it does not know', () => {
    expect(page(block('', 'x'), block('sh', 'x'), block('js', 'x'), block('tsx', 'x'))).toEqual([]);
    expect(only(page(block('ts run file=a.ts', 'x')))).toMatchObject({ file: 'a.ts', runs: true });
    expect(() => page(block('ts rum', 'x'))).toThrow('docs/page.md:5 says rum');
  });

  test('finds a wrong type, in the line of the document', { timeout: TYPES_MS }, () => {
    const wrong = 'const ok: string = "a";\nexport const n: number = ok;';
    expect(typeErrorsOf(page(block('ts', wrong)))).toEqual([
      "docs/page.md:7 Type 'string' is not assignable to type 'number'.",
    ]);
  });

  test('knows packages, and the named blocks of the same page', { timeout: TYPES_MS }, () => {
    const machine = "import { createMachine } from 'xstate';\nexport const m = createMachine({});";
    const user = "import { m } from './machine.ts';\nconsole.log(m.id);";
    expect(typeErrorsOf(page(block('ts file=machine.ts', machine), block('ts', user)))).toEqual([]);
    expect(typeErrorsOf(page(block('ts', user)))).toEqual([
      expect.stringContaining("Cannot find module './machine.ts'"),
    ]);
  });

  test('runs what is marked, with its neighbours', { timeout: RUN_MS }, async () => {
    const snippets = page(
      block('ts file=one.ts', "export const one: string = 'one';"),
      block('ts run', "import { one } from './one.ts';\nimport 'xstate';\nconsole.log(one);"),
      block('text output', 'one'),
    );
    const [named, run] = snippets;
    expect(await faultOf(run!, [named!])).toBeUndefined();
    expect(await faultOf({ ...run!, output: 'two\n' }, [named!])).toBe(
      'docs/page.md:10 printed\none\nand not\ntwo',
    );
    expect(await faultOf(run!, [])).toContain('docs/page.md:10 ended with 1');
  });

  test('finds an exit code and an error that is thrown', { timeout: RUN_MS }, async () => {
    const exit = only(page(block('ts run', 'process.exitCode = 3;')));
    expect(await faultOf(exit, [])).toContain('ended with 3');
    const thrown = only(page(block('ts run', "throw new Error('no');")));
    expect(await faultOf(thrown, [])).toContain('Error: no');
  });
});

function placeOf({ document, line }: Snippet): string {
  return `${document}:${line}`;
}
