/** Was anything lost, doubled or falsely reported? Judged from the record and the files alone. */
import type { Json } from '../../src/index.ts';
import type { OnePass } from './demo-files.ts';

/** How one life of the job's process ended, and what had been heard of it. */
export interface Life {
  readonly pid: number;
  readonly signal: string | null;
  readonly code: number | null;
  /** Files on record when it took up the job. */
  readonly from: number;
  /** Files on record when it was last heard of. */
  readonly committed: number;
  /** Attempt under way when it took up the job, and when it was last heard of. */
  readonly begunWith: string;
  readonly underWay: string | undefined;
  /** Files the last attempt had hashed, as far as it was heard of. */
  readonly progress: number;
}

export interface Findings {
  readonly first: Life;
  readonly second: Life;
  /** The procedure's end, as the runtime shows it. */
  readonly status: string;
  readonly output: Json | undefined;
  readonly history: readonly Json[];
  readonly batch: number;
  readonly files: number;
  readonly pass: OnePass;
}

export interface Check {
  readonly ok: boolean;
  readonly what: string;
}

/** Batches on record, by the number of files they brought the digest to. */
interface BatchOnRecord {
  readonly files: number;
  readonly digest: string;
}

export function judge(findings: Findings): readonly Check[] {
  const { first, second, batch, files, pass, status, output } = findings;
  const total = (output ?? {}) as { digest?: string; files?: number; bytes?: number };
  const cut = Math.floor(second.from / batch);
  return [
    {
      ok: first.signal === 'SIGKILL' && first.committed < files,
      what: `the first process was ended by SIGKILL with work left to do`,
    },
    {
      ok: second.from >= first.committed && second.from < files && second.code === 0,
      what: `what the first had reported as on record was: the second went on after batch ${cut}`,
    },
    {
      ok: second.begunWith !== '' && second.begunWith !== first.underWay,
      what: `the batch that was cut off got a new attempt, ${second.begunWith}`,
    },
    ...judgeHistory(findings),
    {
      ok: status === 'done' && total.digest === pass.digests.at(-1),
      what: `the digest is that of one pass over all files, made by this process`,
    },
    {
      ok: total.files === files && pass.digests.length === files && total.bytes === pass.bytes,
      what: `${grouped(files)} files and ${grouped(pass.bytes)} bytes are in it`,
    },
  ];
}

function judgeHistory({ history, batch, files, pass }: Findings): readonly Check[] {
  const onRecord = batchesIn(history);
  const wanted = Array.from({ length: Math.ceil(files / batch) }, (_, i) =>
    Math.min(files, (i + 1) * batch),
  );
  const seen = onRecord.map((one) => one.files);
  const missing = wanted.filter((end) => !seen.includes(end));
  const doubled = seen.filter((end, i) => seen.indexOf(end) !== i);
  const strange = seen.filter((end) => !wanted.includes(end));
  const wrong = onRecord.filter((one) => one.digest !== pass.digests[one.files - 1]);
  return [
    {
      ok: missing.length + doubled.length + strange.length === 0,
      what:
        `the history has each of the ${wanted.length} batches once` +
        note('missing', missing) +
        note('twice', doubled) +
        note('unknown', strange),
    },
    {
      ok: wrong.length === 0 && onRecord.length > 0,
      what: `after each of them the digest was that of the files so far`,
    },
  ];
}

/** The steps of the history in which a batch entered the digest, in their order. */
export function batchesIn(history: readonly Json[]): readonly BatchOnRecord[] {
  return history.flatMap((entry) => {
    const { e, c } = entry as { e?: { type?: string }; c?: Partial<BatchOnRecord> };
    if (e?.type !== 'xstate.done.actor.batch') return [];
    return [{ files: c?.files ?? -1, digest: c?.digest ?? '' }];
  });
}

export function grouped(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

function note(what: string, ends: readonly number[]): string {
  return ends.length === 0 ? '' : `; ${what}: those up to file ${ends.join(', ')}`;
}
