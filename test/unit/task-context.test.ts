/** What a worker function holds in its hands, on a hand-driven clock. */
import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/model/json.ts';
import { PROGRESS_INTERVAL_MS, ThreadContext } from '../../src/threads/task-context.ts';
import { reportReturned, reportThrown } from '../../src/threads/task-report.ts';
import { STOP_FLAG } from '../../src/threads/task-wire.ts';
import type { StopReason } from '../../src/threads/thread-host.ts';
import { virtualClock } from '../../src/world/virtual-clock.ts';

function bench() {
  const clock = virtualClock();
  const sent: Json[] = [];
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const context = new ThreadContext({
    attempt: '7',
    deadline: null,
    flag,
    clock,
    send: (text) => sent.push(JSON.parse(text) as Json),
  });
  const ask = (reason: StopReason): void => {
    Atomics.store(flag, 0, STOP_FLAG[reason]);
  };
  return { clock, sent, context, ask };
}

describe('progress', () => {
  it('leaves at once, then the latest per interval', async () => {
    const { clock, sent, context } = bench();
    for (let i = 0; i < 5; i++) context.progress(i);
    expect(sent).toEqual([0]);
    await clock.advance(PROGRESS_INTERVAL_MS - 1);
    expect(sent).toEqual([0]);
    await clock.advance(1);
    expect(sent).toEqual([0, 4]);
    context.progress(5);
    expect(sent).toEqual([0, 4]);
    await clock.advance(PROGRESS_INTERVAL_MS);
    expect(sent).toEqual([0, 4, 5]);
    expect(clock.pending).toBe(0);
  });

  it('in a loop that lets no timer run, leaves by the next call after the interval', async () => {
    const { clock, sent, context } = bench();
    context.progress('a');
    context.progress('b');
    await clock.advance(PROGRESS_INTERVAL_MS);
    context.progress('c');
    context.progress('d');
    context.close();
    expect(sent).toEqual(['a', 'b', 'd']);
    expect(clock.pending).toBe(0);
  });

  it('is shown as it was when it was given', async () => {
    const { clock, sent, context } = bench();
    const counters = { files: 1 };
    context.progress(counters);
    counters.files = 2;
    context.progress(counters);
    counters.files = 99;
    await clock.advance(PROGRESS_INTERVAL_MS);
    expect(sent).toEqual([{ files: 1 }, { files: 2 }]);
  });

  it('after the end goes nowhere', () => {
    const { clock, sent, context } = bench();
    context.close();
    context.progress('late');
    context.close();
    expect(sent).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it.each([
    ['a class', new Date()],
    ['nothing', undefined],
    ['more than 64 KiB', 'x'.repeat(64 * 1024)],
  ])('refuses %s with VALUE_NOT_JSON, each time', (_what, value) => {
    const { sent, context } = bench();
    for (let i = 0; i < 2; i++) {
      expect(() => {
        context.progress(value as never);
      }).toThrow(expect.objectContaining({ code: 'VALUE_NOT_JSON' }));
    }
    expect(sent).toEqual([]);
  });
});

describe('the request to stop', () => {
  const reasons: [StopReason, string][] = [
    ['cancel', 'TASK_CANCELLED'],
    ['deadline', 'TASK_DEADLINE'],
    ['close', 'TASK_RUNNER_CLOSED'],
  ];

  it.each(reasons)('%s is seen by cancelled() and aborts with %s', (reason, code) => {
    const { context, ask } = bench();
    const { cancelled, signal } = context;
    expect(cancelled()).toBe(false);
    ask(reason);
    expect(signal.aborted).toBe(false);
    expect(cancelled()).toBe(true);
    expect(signal.reason).toMatchObject({ code });
    const first = signal.reason as unknown;
    expect(cancelled()).toBe(true);
    expect(signal.reason).toBe(first);
  });

  it('is told apart from other errors by what is thrown', () => {
    const { context, ask } = bench();
    const abort = Object.assign(new Error('stop'), { name: 'AbortError' });
    const trap = new Proxy({}, { get: () => expect.unreachable() });
    expect(reportThrown(abort, context).kind).toBe('fail');
    ask('cancel');
    expect(context.cancelled()).toBe(true);
    const { reason } = context.signal as { reason: unknown };
    for (const thrown of [abort, reason, new Error('wrapped', { cause: reason })]) {
      expect(reportThrown(thrown, context)).toEqual({ kind: 'stopped' });
    }
    for (const thrown of [new Error('EIO'), null, 'text', trap]) {
      expect(reportThrown(thrown, context).kind).toBe('fail');
    }
  });
});

describe('the report of a returned value', () => {
  it('carries JSON up to 1 MiB of UTF-8, and nothing else', () => {
    const limit = 1024 * 1024;
    expect(reportReturned('x'.repeat(limit - 2)).kind).toBe('success');
    for (const value of ['x'.repeat(limit - 1), 'é'.repeat(limit / 2), () => 1, 1n, Symbol('s')]) {
      expect(reportReturned(value)).toMatchObject({
        kind: 'unfit',
        error: { code: 'TASK_RESULT_INVALID' },
      });
    }
    expect(reportReturned(undefined)).toEqual({ kind: 'success', output: 'null' });
    expect(reportReturned({ a: 1, b: undefined })).toEqual({ kind: 'success', output: '{"a":1}' });
  });
});
