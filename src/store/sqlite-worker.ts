/** Program of the writing thread: holds the lock and the only connection that writes groups. */
import { randomUUID } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import type { StoreThreadData, WriterRequest } from './sqlite-messages.ts';
import { StoreWriter } from './sqlite-writer.ts';

if (parentPort === null) throw new Error('sqlite-worker runs in a worker thread');
const port = parentPort;
const { settings } = workerData as StoreThreadData;

const writer = new StoreWriter(settings, {
  post: (answer, transfer = []) => {
    port.postMessage(answer, transfer);
  },
  now: () => performance.now(),
  isoTime: () => new Date().toISOString(),
  newReign: () => randomUUID(),
  later: (run) => {
    setImmediate(run);
  },
});

port.on('message', (request: WriterRequest) => {
  writer.receive(request);
  // Nothing is open any more: without its port the thread ends by itself.
  if (!(request instanceof Uint8Array) && request.op === 'close') port.close();
});
