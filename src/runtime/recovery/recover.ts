/**
 * Reads a store back: the checkpointed states, overlaid with the groups behind them. What needs
 * work at once (unsettled effects, tasks, live children, migrations) is listed; everything else
 * stays passive. There is no "restored" flag anywhere: the same rows lead the same way (L2).
 */
import { readGroup, readRecords, RecordKind } from '../../codec/group.ts';
import { parseJson } from '../../model/json.ts';
import type { Store } from '../../store/port.ts';
import type { Counters } from '../records/counters.ts';
import type { DeadLetters } from '../planning/dead-letters.ts';
import type { Directory } from '../population/directory.ts';
import type { Registry } from '../interpreter/registry.ts';
import type { KeyIndex } from '../planning/key-index.ts';
import type { MailQueue } from '../planning/mail-queue.ts';
import type { Population } from '../population/population.ts';
import type { Retention } from '../upkeep/retention.ts';
import { envelopeOf } from '../planning/postman.ts';
import { isDamaged, readRow } from '../records/read-row.ts';
import { isTerminal, type DeadLetter, type ProcedureRow, type StoredMail } from '../records/row.ts';
import { TABLE_PREFIX, type Tables } from '../records/tables.ts';
import type { TimerQueue } from '../records/timer-queue.ts';

export interface RecoveryNeeds {
  readonly registry: Registry;
  readonly directory: Directory;
  readonly population: Population;
  readonly tables: Tables;
  readonly timers: TimerQueue;
  readonly queue: MailQueue;
  readonly counters: Counters;
  readonly deadLetters: DeadLetters;
  readonly keys: KeyIndex;
  readonly retention: Retention;
  /** What is derived from the rows takes a new one in. */
  follow(before: undefined, after: ProcedureRow): void;
}

export interface Recovered {
  /** Numbers of the procedures that have something to do at once. */
  readonly resuming: readonly number[];
  /** Latest time on record, ms. */
  readonly at: number;
}

export async function recover(store: Store, needs: RecoveryNeeds): Promise<Recovered> {
  const newer = await readLog(store);
  const loader = new Loader(needs);
  for await (const batch of store.states()) {
    for (const { key, value } of readRecords(batch, 0)) {
      if (!newer.has(key)) loader.load(key, value);
    }
  }
  for (const [key, value] of newer) {
    if (value !== null) loader.load(key, value);
  }
  return loader.finish();
}

/** The last word of the log on each key it mentions; null for a deletion. */
async function readLog(store: Store): Promise<Map<string, string | null>> {
  const newer = new Map<string, string | null>();
  for await (const group of store.groups()) {
    for (const { kind, key, value } of readGroup(group)) {
      if (kind === RecordKind.put) newer.set(key, value);
      else if (kind === RecordKind.delete) newer.set(key, null);
    }
  }
  return newer;
}

class Loader {
  readonly #needs: RecoveryNeeds;
  readonly #resuming: number[] = [];
  readonly #children: { readonly slot: number; readonly parent: number }[] = [];
  readonly #mail: StoredMail[] = [];
  #at = 0;

  constructor(needs: RecoveryNeeds) {
    this.#needs = needs;
  }

  load(key: string, value: string): void {
    const { tables, keys, deadLetters, counters } = this.#needs;
    if (key.startsWith('p/')) {
      this.#procedure(Number(key.slice(2)), value);
    } else if (key.startsWith('m/')) {
      this.#mail.push(parseJson(value, key) as unknown as StoredMail);
    } else if (key.startsWith(TABLE_PREFIX)) {
      tables.load(key, parseJson(value, key));
    } else if (key.startsWith('d/')) {
      const letter = parseJson(value, key) as unknown as DeadLetter;
      deadLetters.load(letter);
      counters.seen(0, letter.seq);
    } else if (key.startsWith('k/')) {
      keys.load(key, value);
    } else if (key === 'c') {
      const record = parseJson(value, key) as { procedure?: number; mail?: number; at?: number };
      counters.load(record);
      this.#at = Math.max(this.#at, record.at ?? 0);
    }
  }

  finish(): Recovered {
    const { directory, queue, counters, keys, deadLetters } = this.#needs;
    keys.loaded();
    deadLetters.loaded();
    for (const { slot, parent } of this.#children) {
      const parentSlot = directory.slotOfNumber(parent);
      if (parentSlot !== undefined) directory.adopt(slot, parentSlot);
    }
    for (const mail of this.#mail.sort((a, b) => a.seq - b.seq)) {
      counters.seen(0, mail.seq);
      queue.push(envelopeOf(mail));
    }
    return { resuming: this.#resuming.sort((a, b) => a - b), at: this.#at };
  }

  #procedure(number: number, text: string): void {
    const { population, timers, counters, retention, directory } = this.#needs;
    const row = readRow(text, number, (id) => directory.slotOf(id) !== undefined);
    const slot = population.load(row, isDamaged(row) ? JSON.stringify(row) : text);
    counters.seen(row.number, 0);
    if (row.parent !== undefined) this.#children.push({ slot, parent: row.parent.number });
    this.#needs.follow(undefined, row);
    if (isTerminal(row.status)) retention.ended(row);
    for (const { due } of row.timers ?? []) timers.add(due, slot);
    if (this.#hasWork(row)) this.#resuming.push(row.number);
  }

  #hasWork(row: ProcedureRow): boolean {
    if (row.effects !== undefined || row.tasks !== undefined) return true;
    if (isTerminal(row.status)) return false;
    if (row.quarantine?.unread) return true;
    const newest = this.#needs.registry.newest(row.machine);
    if (newest?.version !== row.version) return true;
    if (newest.positional && newest.print !== row.print) return true;
    return row.children?.some((child) => child.kind === 'local' && !child.ended) ?? false;
  }
}
