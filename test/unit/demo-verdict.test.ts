/** The verdict of the demo: all is right only if all is right. */
import { describe, expect, it } from 'vitest';
import { judge, type Findings, type Life } from '../../actors/demo/verdict.ts';
import type { Json } from '../../src/model/json.ts';

const digests = ['d1', 'd2', 'd3', 'd4', 'd5'];

function batch(files: number, digest = digests[files - 1]): Json {
  const step = { n: files, at: 0, s: 'hashing', e: { type: 'xstate.done.actor.batch' } };
  return { ...step, c: { files, digest: digest ?? '' } };
}

const first: Life = {
  pid: 7,
  signal: 'SIGKILL',
  code: null,
  from: 0,
  committed: 2,
  begunWith: '1',
  underWay: '2',
  progress: 3,
};
const second: Life = {
  ...first,
  pid: 8,
  signal: null,
  code: 0,
  from: 2,
  committed: 5,
  begunWith: '3',
  underWay: undefined,
};
const right: Findings = {
  first,
  second,
  status: 'done',
  output: { digest: 'd5', files: 5, bytes: 50 },
  history: [
    { n: 0, at: 0, s: 'hashing', e: { type: 'xstate.init' } },
    batch(2),
    batch(4),
    batch(5),
  ],
  batch: 2,
  files: 5,
  pass: { digests, bytes: 50 },
};

function faults(findings: Findings): readonly string[] {
  return judge(findings).flatMap(({ ok, what }) => (ok ? [] : [what]));
}

describe('the verdict of the demo', () => {
  it('finds nothing wrong where nothing is', () => {
    expect(faults(right)).toEqual([]);
    expect(judge(right)).toHaveLength(7);
  });

  const wrong: readonly (readonly [string, Partial<Findings>])[] = [
    ['the first process ended by itself', { first: { ...first, signal: null, code: 0 } }],
    ['the first process had finished', { first: { ...first, committed: 5 } }],
    ['a batch that was reported is gone', { second: { ...second, from: 0 } }],
    ['the second process failed', { second: { ...second, code: 1 } }],
    ['the attempt that was cut off went on', { second: { ...second, begunWith: '2' } }],
    ['no attempt followed', { second: { ...second, begunWith: '' } }],
    ['a batch is missing', { history: [batch(2), batch(5)] }],
    ['a batch was applied twice', { history: [batch(2), batch(4), batch(4), batch(5)] }],
    ['a batch has another end', { history: [batch(2), batch(3), batch(4), batch(5)] }],
    ['a digest on the way is wrong', { history: [batch(2), batch(4, 'x'), batch(5)] }],
    ['there is no history', { history: [] }],
    ['the job did not end', { status: 'active' }],
    ['the digest is wrong', { output: { digest: 'd4', files: 5, bytes: 50 } }],
    ['there is no output', { output: undefined }],
    ['a file is missing', { output: { digest: 'd5', files: 4, bytes: 50 } }],
    ['a byte is missing', { output: { digest: 'd5', files: 5, bytes: 49 } }],
    ['a file was added', { pass: { digests: [...digests, 'd6'], bytes: 60 } }],
  ];
  it.each(wrong)('is against Reeve when %s', (_, change) => {
    expect(faults({ ...right, ...change })).not.toEqual([]);
  });
});
