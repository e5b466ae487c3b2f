/** A program whose only task ends its process by a segmentation fault. It says what it hears. */
import type { AttemptId } from '../../src/model/task.ts';
import { fromPool } from '../../src/threads/pool.ts';
import { systemClock } from '../../src/world/clock.ts';

const worker = new URL('./task-worker.ts', import.meta.url);
const runner = fromPool(worker, { export: 'crash' }).open({ clock: systemClock(), ledger: 'l' });

function say(what: unknown): void {
  console.log(JSON.stringify(what));
}

const listener = { progress: say, ended: say, late: say };
runner.submit({ attempt: '1' as AttemptId, task: 't', input: null }, listener);
