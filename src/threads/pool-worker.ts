/**
 * The entry of a pool's thread. Runs the user's function and answers for it: it never throws, and
 * what it says is plain data of `task-wire.ts`. The report goes over the attempt's own port before
 * the promise settles, so that a settled promise finds the report waiting.
 */
import type { ErrorData } from '../model/errors.ts';
import { systemClock } from '../world/clock.ts';
import { codedError, describeCause } from './describe-thrown.ts';
import { type TaskFunction, ThreadContext } from './task-context.ts';
import { reportReturned, reportThrown } from './task-report.ts';
import {
  type TaskOrder,
  type TaskReceipt,
  type ThreadMessage,
  type ThreadReport,
  WIRE_VERSION,
} from './task-wire.ts';

/** Called by Piscina; see the header. */
export async function runTask(order: TaskOrder): Promise<TaskReceipt> {
  const { port, attempt, deadlineMs } = order;
  const stamp = { v: WIRE_VERSION, attempt } as const;
  const post = (message: ThreadMessage): void => {
    port.postMessage(message);
  };
  post({ ...stamp, kind: 'started' });
  const clock = systemClock();
  const context = new ThreadContext({
    attempt,
    deadline: deadlineMs === null ? null : clock.now() + deadlineMs,
    flag: order.flag,
    clock,
    send: (progress) => {
      post({ ...stamp, kind: 'progress', progress });
    },
  });
  port.on('message', context.cancelled);
  const report = await reportOf(order, context);
  context.close();
  port.off('message', context.cancelled);
  post({ ...stamp, ...report });
  return { ...stamp, kind: 'returned' };
}

async function reportOf(order: TaskOrder, context: ThreadContext): Promise<ThreadReport> {
  if (context.cancelled()) return { kind: 'stopped' };
  let run: TaskFunction<unknown, unknown>;
  try {
    run = await load(order);
  } catch (thrown) {
    return { kind: 'fail', error: moduleError(order, describeCause(thrown)) };
  }
  try {
    return reportReturned(await run(JSON.parse(order.input), context));
  } catch (thrown) {
    return reportThrown(thrown, context);
  }
}

async function load(order: TaskOrder): Promise<TaskFunction<unknown, unknown>> {
  const module = (await import(order.module)) as Record<string, unknown>;
  const run = Object.hasOwn(module, order.exportName) ? module[order.exportName] : undefined;
  if (typeof run === 'function') return run as TaskFunction<unknown, unknown>;
  throw new TypeError(`the module exports no function '${order.exportName}'`);
}

function moduleError(order: TaskOrder, cause: ErrorData): ErrorData {
  return codedError('TASK_MODULE_INVALID', `${order.module}: ${cause.message}`, {
    module: order.module,
    export: order.exportName,
    cause,
  });
}
