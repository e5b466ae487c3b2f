/** What a thread reports of a task's function: of the value it returned, of what it threw. */
import { assertJson } from '../model/json.ts';
import { codedError, describeCause, describeThrown } from './describe-thrown.ts';
import type { ThreadContext } from './task-context.ts';
import type { ThreadReport } from './task-wire.ts';

/** Most bytes of a task's output as JSON text. */
const OUTPUT_BYTES_MAX = 1024 * 1024;

/** Never throws. A function that returns nothing has the output null. */
export function reportReturned(output: unknown): ThreadReport {
  try {
    const value = output ?? null;
    assertJson(value, 'output');
    const text = JSON.stringify(value);
    const bytes = Buffer.byteLength(text);
    if (bytes <= OUTPUT_BYTES_MAX) return { kind: 'success', output: text };
    const message = `the output has ${bytes} bytes of JSON; the limit is ${OUTPUT_BYTES_MAX}`;
    const limits = { bytes, limit: OUTPUT_BYTES_MAX };
    return { kind: 'unfit', error: codedError('TASK_RESULT_INVALID', message, limits) };
  } catch (thrown) {
    const cause = describeCause(thrown);
    const message = `the output cannot be carried: ${cause.message}`;
    return { kind: 'unfit', error: codedError('TASK_RESULT_INVALID', message, { cause }) };
  }
}

/** Never throws. */
export function reportThrown(thrown: unknown, context: ThreadContext): ThreadReport {
  if (context.isStop(thrown)) return { kind: 'stopped' };
  return { kind: 'fail', error: describeThrown(thrown) };
}
