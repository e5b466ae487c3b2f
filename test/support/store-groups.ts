/** Groups for the store tests, and the naive fold they are judged by. */
import { GroupEncoder, RecordKind, readGroup, readRecords } from '../../src/codec/group.ts';
import type { Json } from '../../src/model/json.ts';
import type { HistoryPage, Store } from '../../src/store/port.ts';

export type Word =
  | { readonly put: string; readonly value: string }
  | { readonly del: string }
  | { readonly history: number; readonly entries: readonly Json[] }
  | { readonly forget: number };

export function encodeGroup(position: number, epoch: number, words: readonly Word[]): Uint8Array {
  const encoder = new GroupEncoder();
  for (const word of words) {
    if ('put' in word) encoder.add(RecordKind.put, word.put, word.value);
    else if ('del' in word) encoder.add(RecordKind.delete, word.del, '');
    else if ('forget' in word) encoder.add(RecordKind.forget, String(word.forget), '');
    else encoder.add(RecordKind.history, String(word.history), JSON.stringify(word.entries));
  }
  return encoder.finish(position, epoch);
}

/** The fold, the slow and plain way: a map of strings and an array of entries per procedure. */
export class NaiveFold {
  readonly states = new Map<string, string>();
  readonly history = new Map<number, Json[]>();

  apply(words: readonly Word[]): void {
    for (const word of words) {
      if ('put' in word) this.states.set(word.put, word.value);
      else if ('del' in word) this.states.delete(word.del);
      else if ('forget' in word) this.history.delete(word.forget);
      else {
        const entries = this.history.get(word.history) ?? [];
        this.history.set(word.history, [...entries, ...word.entries]);
      }
    }
  }
}

/** What a coordinator has after its start: states of the checkpoint, and the groups behind it. */
export async function loadStates(store: Store): Promise<Map<string, string>> {
  const states = new Map<string, string>();
  for await (const batch of store.states()) {
    for (const { kind, key, value } of readRecords(batch, 0)) {
      if (kind !== RecordKind.put) throw new Error(`a state batch holds a record of kind ${kind}`);
      if (states.has(key)) throw new Error(`the state ${key} came twice`);
      states.set(key, value);
    }
  }
  for await (const group of store.groups()) {
    for (const { kind, key, value } of readGroup(group)) {
      if (kind === RecordKind.put) states.set(key, value);
      if (kind === RecordKind.delete) states.delete(key);
    }
  }
  return states;
}

export async function loadGroups(store: Store): Promise<Uint8Array[]> {
  const groups: Uint8Array[] = [];
  for await (const group of store.groups()) groups.push(Uint8Array.from(group));
  return groups;
}

/** The whole history of a procedure, page by page. */
export async function loadHistory(store: Store, procedure: number, limit = 1000): Promise<Json[]> {
  const all: Json[] = [];
  let after: string | undefined;
  do {
    const page: HistoryPage = { procedure, limit, ...(after === undefined ? {} : { after }) };
    const { entries, next } = await store.history(page);
    if (entries.length > limit) throw new Error(`a page of ${entries.length} entries`);
    if (next !== undefined && entries.length === 0) throw new Error('an empty page with a next');
    all.push(...entries);
    after = next;
  } while (after !== undefined);
  return all;
}
