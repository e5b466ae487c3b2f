/** A task runner played by hand: it does nothing until the test says what happens. */
import type {
  AttemptId,
  TaskBinding,
  TaskListener,
  TaskOutcome,
  TaskSubmission,
} from '../../src/model/task.ts';
import { ReeveError } from '../../src/model/errors.ts';

export interface HandRunner extends TaskBinding {
  /** In the order of their first coming, over all lives. */
  readonly submitted: TaskSubmission[];
  readonly cancelled: AttemptId[];
  readonly forgotten: AttemptId[];
  /** How often `close` was called. */
  readonly closed: () => number;
  /** The attempt is over. */
  end(attempt: string, outcome: TaskOutcome): void;
  progress(attempt: string, progress: never): void;
  late(attempt: string, outcome: TaskOutcome): void;
  /** From now on submissions are refused; false: there is room again. */
  full(isFull: boolean): void;
}

/** @param ledger keeps its name over lives when it is given: a runner that outlives the process */
export function handRunner(ledger?: string): HandRunner {
  const listeners = new Map<string, TaskListener>();
  const submitted: TaskSubmission[] = [];
  const cancelled: AttemptId[] = [];
  const forgotten: AttemptId[] = [];
  let closed = 0;
  let isFull = false;
  let room: (() => void) | undefined;
  const listener = (attempt: string): TaskListener => {
    const found = listeners.get(attempt);
    if (found === undefined) throw new Error(`attempt ${attempt} was never submitted`);
    return found;
  };
  return {
    kind: 'task-binding',
    submitted,
    cancelled,
    forgotten,
    closed: () => closed,
    open(needs) {
      room = needs.room;
      return {
        ledger: ledger ?? needs.ledger,
        submit(task, heard) {
          if (isFull) throw new ReeveError('TASK_QUEUE_FULL', 'no room', {});
          if (!submitted.some(({ attempt }) => attempt === task.attempt)) submitted.push(task);
          listeners.set(task.attempt, heard);
        },
        cancel: (attempt) => void cancelled.push(attempt),
        forget: (attempt) => void forgotten.push(attempt),
        close: async () => void closed++,
      };
    },
    end: (attempt, outcome) => listener(attempt).ended(outcome),
    progress: (attempt, progress) => listener(attempt).progress(progress),
    late: (attempt, outcome) => listener(attempt).late(outcome),
    full(now) {
      isFull = now;
      if (!now) room?.();
    },
  };
}
