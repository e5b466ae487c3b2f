import { createActor, fromPromise, setup } from 'xstate';
import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  assertTaskInput,
  assertTaskOutput,
  declareTask,
  isDeclaredTask,
  taskOf,
} from '../../src/model/declare-task.ts';
import { hasCode } from '../../src/model/errors.ts';
import type { Json } from '../../src/model/json.ts';

interface HashInput {
  readonly directory: string;
  readonly limit?: number;
}
interface HashOutput {
  readonly digest: string;
  readonly files: readonly { readonly path: string }[];
}

const hash = declareTask<HashInput, HashOutput>('hash-directory');

const machine = setup({
  types: {},
  actors: { hash },
}).createMachine({
  id: 'hasher',
  context: { digest: '', failed: false },
  initial: 'hashing',
  states: {
    hashing: {
      invoke: {
        id: 'hash',
        src: 'hash',
        input: { directory: '/data' },
        onDone: {
          target: 'done',
          actions: ({ event, context }) => {
            expectTypeOf(event.output).toEqualTypeOf<HashOutput>();
            context.digest = event.output.digest;
          },
        },
        onError: {
          target: 'failed',
          actions: ({ event, context }) => {
            context.failed = hasCode(event.error, 'TASK_NOT_BOUND');
          },
        },
      },
    },
    done: { type: 'final' },
    failed: { type: 'final' },
  },
});

describe('declareTask', () => {
  it('in plain XState ends in onError with TASK_NOT_BOUND, and names the task', () => {
    const actor = createActor(machine).start();
    expect(actor.getSnapshot().value).toBe('failed');
    expect(actor.getSnapshot().context.failed).toBe(true);

    const alone = createActor(hash, { input: { directory: '/data' } });
    const errors: unknown[] = [];
    alone.subscribe({ error: (error) => errors.push(error) });
    alone.start();
    expect(errors).toHaveLength(1);
    expect(hasCode(errors[0], 'TASK_NOT_BOUND')).toBe(true);
    expect(String(errors[0])).toContain("'hash-directory'");
  });

  it('takes a fromPromise of the same types in its place in a unit test of a machine', async () => {
    const provided = machine.provide({
      actors: {
        hash: fromPromise<HashOutput, HashInput>(({ input }) =>
          Promise.resolve({ digest: `of ${input.directory}`, files: [] }),
        ),
      },
    });
    const actor = createActor(provided);
    const ended = new Promise<void>((resolve) => {
      actor.subscribe({ complete: resolve });
    });
    actor.start();
    await ended;
    expect(actor.getSnapshot().value).toBe('done');
    expect(actor.getSnapshot().context.digest).toBe('of /data');
  });

  it('types input and output, and refuses at compile time what JSON cannot carry', () => {
    setup({ actors: { hash } }).createMachine({
      // @ts-expect-error -- `directory` is a string
      invoke: { src: 'hash', input: { directory: 7 } },
    });
    // @ts-expect-error -- a Date is not JSON
    declareTask<{ at: Date }, null>('a');
    // @ts-expect-error -- a function is not JSON
    declareTask<null, { run: () => void }>('a');
    // @ts-expect-error -- a bigint is not JSON
    declareTask<{ deep: { size: bigint }[] }, null>('a');
    declareTask<Json, Json>('anything');
    declareTask<string, number[]>('primitives');
  });

  it('carries name and validators where the runtime finds them', () => {
    const input = (value: unknown): boolean => typeof value === 'string';
    const logic = declareTask<string, null>('copy', { input });
    expect(isDeclaredTask(logic)).toBe(true);
    expect(taskOf(logic)).toEqual({ name: 'copy', input });
    expect(isDeclaredTask(fromPromise(() => Promise.resolve(1)))).toBe(false);
    expect(isDeclaredTask(Object.create(logic))).toBe(false);
    expect(isDeclaredTask(null)).toBe(false);
    expect(() => taskOf({})).toThrow(expect.objectContaining({ code: 'TASK_NOT_BOUND' }));
  });

  it.each([
    ['an empty name', () => declareTask('')],
    ['a name of 201 characters', () => declareTask('x'.repeat(201))],
    ['a name that is no string', () => declareTask(7 as never)],
    ['an unknown validator', () => declareTask('a', { imput: () => true } as never)],
    ['a validator that is no function', () => declareTask('a', { input: {} as never })],
  ])('refuses %s with OPTION_INVALID', (_what, declare) => {
    expect(declare).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }));
  });
});

describe('validators of a task', () => {
  const accepts: [string, (value: unknown) => boolean | void][] = [
    ['returns true', () => true],
    ['returns nothing', () => undefined],
  ];
  const refuses: [string, (value: unknown) => boolean | void][] = [
    ['returns false', () => false],
    [
      'throws',
      () => {
        throw new Error('too short');
      },
    ],
    ['returns a promise (a forgotten await)', () => Promise.resolve(true) as never],
    ['returns another falsy value', () => 0 as never],
    ['returns another truthy value', () => 'yes' as never],
  ];

  it.each(accepts)('one that %s accepts', (_what, validator) => {
    const task = taskOf(declareTask('t', { input: validator, output: validator }));
    expect(() => {
      assertTaskInput(task, 1);
      assertTaskOutput(task, 1);
    }).not.toThrow();
  });

  it.each(refuses)('one that %s refuses, with the code of its side', (_what, validator) => {
    const task = taskOf(declareTask('t', { input: validator, output: validator }));
    expect(() => {
      assertTaskInput(task, 1);
    }).toThrow(expect.objectContaining({ code: 'TASK_INPUT_INVALID' }));
    expect(() => {
      assertTaskOutput(task, 1);
    }).toThrow(expect.objectContaining({ code: 'TASK_OUTPUT_INVALID' }));
  });

  it('is not asked about a value that is no JSON', () => {
    const asked: unknown[] = [];
    const task = taskOf(
      declareTask('t', {
        input: (value) => {
          asked.push(value);
        },
      }),
    );
    expect(() => {
      assertTaskInput(task, { at: new Date() });
    }).toThrow(
      expect.objectContaining({
        code: 'TASK_INPUT_INVALID',
        message: expect.stringContaining('input.at') as string,
      }),
    );
    expect(asked).toEqual([]);
  });
});
