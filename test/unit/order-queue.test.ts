import { queueOptionsSymbol } from 'piscina';
import { expect, it } from 'vitest';
import { OrderQueue } from '../../src/threads/order-queue.ts';

it('is first in, first out, and gives back what is withdrawn by its mark', () => {
  const queue = new OrderQueue();
  const marks = [{}, {}, {}, {}];
  const tasks = marks.map((mark) => ({ [queueOptionsSymbol]: mark }));
  for (const task of tasks.slice(1)) queue.push(task);
  queue.unshift(tasks[0] as never);
  expect(queue.size).toBe(4);
  queue.withdraw(marks[2] as object);
  queue.withdraw({});
  queue.remove(tasks[3] as never);
  queue.remove(tasks[3] as never);
  expect(queue.size).toBe(2);
  expect([queue.shift(), queue.shift(), queue.shift()]).toEqual([tasks[0], tasks[1], null]);
});
