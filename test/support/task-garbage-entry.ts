/** Entries of threads that break the protocol, each in its own way. */
import type { TaskOrder } from '../../src/threads/task-wire.ts';

function stamp(order: TaskOrder): { v: 1; attempt: string } {
  return { v: 1, attempt: order.attempt };
}

function start(order: TaskOrder): void {
  order.port.postMessage({ ...stamp(order), kind: 'started' });
}

function succeed(order: TaskOrder, output: unknown = '"done"'): void {
  order.port.postMessage({ ...stamp(order), kind: 'success', output });
}

function receipt(order: TaskOrder): unknown {
  return { ...stamp(order), kind: 'returned' };
}

const never = new Promise<never>(() => undefined);

export function resolvesNull(): null {
  return null;
}

export function startsAndResolvesNull(order: TaskOrder): null {
  start(order);
  return null;
}

export function resolvesSuccess(order: TaskOrder): unknown {
  start(order);
  return { ...stamp(order), kind: 'success', output: '1' };
}

export function rejectsWithNull(order: TaskOrder): Promise<never> {
  start(order);
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- M01
  return Promise.reject(null);
}

export function rejectsWithError(order: TaskOrder): Promise<never> {
  start(order);
  return Promise.reject(new Error('an entry that throws'));
}

export function babbles(order: TaskOrder): Promise<never> {
  start(order);
  order.port.postMessage({ hello: 'world' });
  return never;
}

export function babblesUnnamed(order: TaskOrder): Promise<never> {
  order.port.postMessage(null);
  return never;
}

export function answersForAnother(order: TaskOrder): Promise<never> {
  start(order);
  order.port.postMessage({ v: 1, attempt: '666', kind: 'success', output: '"not mine"' });
  succeed(order);
  return never;
}

export function answersInAnotherVersion(order: TaskOrder): Promise<never> {
  start(order);
  order.port.postMessage({ ...stamp(order), v: 2, kind: 'success', output: '1' });
  return never;
}

export function answersNoJson(order: TaskOrder): Promise<never> {
  start(order);
  succeed(order, '{');
  return never;
}

export function answersPoison(order: TaskOrder): Promise<never> {
  start(order);
  succeed(order, '{"__proto__":{"admin":true}}');
  return never;
}

export function answersObject(order: TaskOrder): Promise<never> {
  start(order);
  succeed(order, { done: true });
  return never;
}

export function failsWithoutError(order: TaskOrder): Promise<never> {
  start(order);
  order.port.postMessage({ ...stamp(order), kind: 'fail', error: null });
  return never;
}

export function stopsUnasked(order: TaskOrder): unknown {
  start(order);
  order.port.postMessage({ ...stamp(order), kind: 'stopped' });
  return receipt(order);
}

export function answersTwice(order: TaskOrder): unknown {
  start(order);
  succeed(order, '1');
  succeed(order, '2');
  return receipt(order);
}

export function returnsAnotherReceipt(order: TaskOrder): unknown {
  start(order);
  succeed(order);
  return { v: 1, attempt: '666', kind: 'returned' };
}

export function answersAndNeverReturns(order: TaskOrder): Promise<never> {
  start(order);
  succeed(order);
  return never;
}

export function answersAndExits(order: TaskOrder): never {
  start(order);
  succeed(order);
  process.exit(3);
}

export function exitsUnstarted(): never {
  process.exit(0);
}
