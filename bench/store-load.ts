/** Load for the store bench: a coordinator that has one group in the store and one forming. */
import { GroupEncoder, RecordKind } from '../src/codec/group.ts';
import type { Store } from '../src/store/port.ts';

export interface LoadResult {
  readonly records: number;
  readonly seconds: number;
  /** Ms from `append` to its acknowledgement. */
  readonly latencies: readonly number[];
}

export interface LoadOptions {
  readonly recordsPerGroup: number;
  readonly seconds: number;
  /** Procedures whose states are put, at random. */
  readonly procedures: number;
  /** Groups per second; absent: as many as the store takes. */
  readonly groupsPerSecond?: number;
  /** Called with the latency in ms and the position of each acknowledged group. */
  readonly acknowledged?: (latency: number, position: number) => void;
}

const PADDING = 'x'.repeat(230);

/** A store that goes on from group to group. */
export class Load {
  readonly store: Store;
  readonly epoch: number;
  position: number;
  bytes = 0;
  #seed = 1;

  constructor(store: Store, epoch: number, position: number) {
    this.store = store;
    this.epoch = epoch;
    this.position = position;
  }

  /**
   * A group like the runtime's: of each eight records five put a state (about 390 bytes), one is
   * history, and two put and delete mail.
   */
  encode(records: number, procedures: number): Uint8Array {
    const encoder = new GroupEncoder(records * 440 + 256);
    for (let i = 0; i < records; i++) {
      const number = this.#random(procedures) + 1;
      switch (i % 8) {
        case 5:
          encoder.add(RecordKind.history, String(number), historyOf(i));
          break;
        case 6:
          encoder.add(RecordKind.put, `m/${i}`, stateOf(number, i));
          break;
        case 7:
          encoder.add(RecordKind.delete, `m/${i - 1}`, '');
          break;
        default:
          encoder.add(RecordKind.put, `p/${number}`, stateOf(number, i));
      }
    }
    return encoder.finish(++this.position, this.epoch);
  }

  /** Appends for a while. Encodes the next group while one is in the store. */
  async run(options: LoadOptions): Promise<LoadResult> {
    const { recordsPerGroup, procedures, seconds, groupsPerSecond, acknowledged } = options;
    const latencies: number[] = [];
    const began = performance.now();
    const until = began + seconds * 1000;
    let due = began;
    let group = this.encode(recordsPerGroup, procedures);
    for (;;) {
      const sent = performance.now();
      const position = this.position;
      this.bytes += group.length;
      const appended = this.store.append(this.epoch, group);
      const last = sent >= until;
      if (!last) group = this.encode(recordsPerGroup, procedures);
      await appended;
      const latency = performance.now() - sent;
      latencies.push(latency);
      acknowledged?.(latency, position);
      if (last) break;
      if (groupsPerSecond !== undefined) {
        due = Math.max(due + 1000 / groupsPerSecond, performance.now() - 50);
        await sleep(due - performance.now());
      }
    }
    const records = latencies.length * recordsPerGroup;
    return { records, seconds: (performance.now() - began) / 1000, latencies };
  }

  #random(below: number): number {
    this.#seed = (Math.imul(this.#seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.#seed / 2 ** 32) * below);
  }
}

function stateOf(number: number, i: number): string {
  return (
    `{"id":"procedure-${number}","machine":"region-delete","version":1,"status":"active",` +
    `"state":"waiting-${i % 7}","context":{"attempt":${i},"text":"${PADDING}"},"at":${1e12 + i}}`
  );
}

function historyOf(i: number): string {
  return `[{"at":${1e12 + i},"event":"task.progress","from":"waiting-${i % 7}","to":"waiting-1"}]`;
}

function sleep(delayMs: number): Promise<void> {
  if (delayMs <= 0) return new Promise((resolve) => setImmediate(resolve));
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
