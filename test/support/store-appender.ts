/**
 * Program of the kill tests: appends groups for ever and says what was acknowledged.
 *
 * Group n is made from n alone, so that whoever finds a position knows what must be in the store.
 * At its start the program checks all of it. Lines on stdout: `start <position>`, `ack <position>`,
 * `full <position>`, `failed <code>`, `damaged <what>`.
 */
import { writeSync } from 'node:fs';
import { sqliteStore } from '../../src/store/sqlite-store.ts';
import type { Store } from '../../src/store/port.ts';
import { encodeGroup, loadHistory, loadStates } from './store-groups.ts';
import type { Word } from './store-groups.ts';

const KEYS = 61;
const PROCEDURES = 3;
const CHECKPOINT_EACH = 40;

const [dir = '', limit = 'Infinity'] = process.argv.slice(2);

function say(line: string): void {
  writeSync(1, `${line}\n`);
}

/** About 20 % of the groups are large, so that their pages are written in several steps. */
function wordsOf(position: number): Word[] {
  const size = position % 5 === 0 ? 6000 : 60;
  const text = `group ${position} `.padEnd(size, 'abcdefghij');
  return [
    { put: `k/${position % KEYS}`, value: JSON.stringify({ position, text }) },
    { history: position % PROCEDURES, entries: [position] },
  ];
}

async function check(store: Store, last: number): Promise<void> {
  const states = await loadStates(store);
  for (let key = 0; key < KEYS; key++) {
    const position = last - ((last - key) % KEYS);
    const expected = position <= 0 || position > last ? undefined : wordsOf(position)[0];
    const found = states.get(`k/${key}`);
    const wanted = expected !== undefined && 'put' in expected ? expected.value : undefined;
    if (found !== wanted) say(`damaged state k/${key} at ${last}: ${String(found)}`);
  }
  for (let procedure = 0; procedure < PROCEDURES; procedure++) {
    const entries = await loadHistory(store, procedure);
    const first = procedure === 0 ? PROCEDURES : procedure;
    const count = last < first ? 0 : Math.floor((last - first) / PROCEDURES) + 1;
    const wrong = entries.findIndex((entry, i) => entry !== first + i * PROCEDURES);
    if (entries.length !== count || wrong >= 0) {
      say(`damaged history of ${procedure} at ${last}: ${entries.length} of ${count}`);
    }
  }
}

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? String(error);
}

async function appendAll(store: Store, epoch: number, from: number): Promise<void> {
  for (let position = from; position <= Number(limit); position++) {
    try {
      await store.append(epoch, encodeGroup(position, epoch, wordsOf(position)));
    } catch (error) {
      if (codeOf(error) !== 'STORE_FULL') throw error;
      say(`full ${position}`);
      position--;
      continue;
    }
    say(`ack ${position}`);
    if (position % CHECKPOINT_EACH === 0) {
      store.checkpoint(epoch, position).catch((error: unknown) => {
        say(`failed ${codeOf(error)}`);
      });
    }
  }
}

const store = sqliteStore({ dir, walBytes: 1024 * 1024 });
try {
  const { epoch, position } = await store.acquire();
  await check(store, position);
  say(`start ${position}`);
  await appendAll(store, epoch, position + 1).catch(async (error: unknown) => {
    say(`failed ${codeOf(error)}`);
    // Sticky: nothing is accepted any more.
    await store.checkpoint(epoch, 0).catch((next: unknown) => say(`then ${codeOf(next)}`));
  });
} catch (error) {
  say(`failed ${codeOf(error)} ${(error as Error).message}`);
}
await store.close();
say('closed');
