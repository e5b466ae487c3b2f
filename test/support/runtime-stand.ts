/**
 * A stand for tests of the runtime: one virtual clock and one disk, on which runtimes live one after
 * another. A life ends by `close`, or by `crash`, after which it acts no more and what was not
 * synced is lost.
 */
import type { AnyActorLogic } from 'xstate';
import { GroupEncoder, readGroup, readRecords, RecordKind } from '../../src/codec/group.ts';
import { resolveOptions } from '../../src/model/options.ts';
import type { TaskBinding } from '../../src/model/task.ts';
import { Engine } from '../../src/runtime/engine.ts';
import { createRuntime, Runtime, type RuntimeOptions } from '../../src/runtime/index.ts';
import { memoryDisk, type MemoryDisk } from '../../src/store/memory-disk.ts';
import { memoryFaults, type MemoryFaults } from '../../src/store/memory-faults.ts';
import { memoryStore } from '../../src/store/memory-store.ts';
import type { Clock } from '../../src/world/clock.ts';
import { virtualClock, type VirtualClock } from '../../src/world/virtual-clock.ts';

export interface Notice {
  readonly level: 'info' | 'warn' | 'error';
  readonly facts: Record<string, unknown>;
  readonly message: string;
}

type Options = Partial<RuntimeOptions> & Pick<RuntimeOptions, 'machines'>;

/** So much virtual time may pass before a promise that is still open counts as stuck. */
const STUCK_MS = 3_600_000;

export class Stand {
  readonly clock: VirtualClock;
  readonly disk: MemoryDisk = memoryDisk();
  readonly faults: MemoryFaults = memoryFaults();
  readonly notices: Notice[] = [];
  readonly logged: unknown[][] = [];
  /** What `onFatal` heard, over all lives. */
  readonly fatal: unknown[] = [];
  readonly #latencyMs: number;
  #kill: () => void = () => undefined;

  constructor({ latencyMs = 0 }: { readonly latencyMs?: number } = {}) {
    this.clock = virtualClock();
    this.#latencyMs = latencyMs;
  }

  /** The next life on the disk. */
  start(options: Options): Promise<Runtime> {
    return this.run(createRuntime(this.options(options)));
  }

  /** The next life, and the engine inside it for what only the inside shows. */
  async open(options: Options): Promise<{ runtime: Runtime; engine: Engine }> {
    const full = this.options(options);
    const actors = Object.entries(options.actors ?? {});
    const isTask = (actor: object): boolean => 'kind' in actor && actor.kind === 'task-binding';
    const engine = new Engine(
      {
        tables: {},
        strict: false,
        inspect: undefined,
        ...full,
        limits: resolveOptions(options.limits ?? {}),
        bindings: Object.fromEntries(
          actors.filter((entry): entry is [string, TaskBinding] => isTask(entry[1])),
        ),
        logics: Object.fromEntries(
          actors.filter((entry): entry is [string, AnyActorLogic] => !isTask(entry[1])),
        ),
      },
      await this.run(full.store.acquire()),
    );
    await this.run(engine.start());
    return { engine, runtime: new Runtime(engine) };
  }

  /** Complete options of the next life. */
  options(options: Options) {
    const { clock, disk, faults } = this;
    let dead = false;
    this.#kill = () => {
      dead = true;
    };
    const own = livingClock(clock, () => dead);
    const note =
      (level: Notice['level']) =>
      (facts: object, message: string): void => {
        this.notices.push({ level, facts: facts as Record<string, unknown>, message });
      };
    const store = memoryStore({ disk, clock: own, latencyMs: this.#latencyMs, faults });
    return {
      store,
      clock: own,
      random: () => 0.5,
      logger: (...values: unknown[]) => void this.logged.push(values),
      log: { info: note('info'), warn: note('warn'), error: note('error') },
      onFatal: (error: unknown) => void this.fatal.push(error),
      ...options,
    };
  }

  /** The process dies: nothing of it happens any more, what was not synced is gone. */
  crash(): void {
    this.#kill();
    this.disk.crash();
  }

  /** Drives the clock until the promise is settled; time passes only as far as it must. */
  async run<T>(promise: Promise<T>): Promise<T> {
    let open = true;
    const closed = (): void => void (open = false);
    promise.then(closed, closed);
    const end = this.clock.monotonic() + STUCK_MS;
    for (;;) {
      await this.clock.settle();
      if (!open) return promise;
      const { next } = this.clock;
      if (next === undefined || this.clock.monotonic() > end) throw new Error('it stays open');
      await this.clock.advance(Math.max(0, next - this.clock.now()));
    }
  }

  /** True when the promise settles without any time passing. */
  async settles(promise: Promise<unknown>): Promise<boolean> {
    let open = true;
    const closed = (): void => void (open = false);
    promise.then(closed, closed);
    await this.clock.settle();
    return !open;
  }

  /** Writes a record behind the runtime's back, between two lives; null deletes it. */
  async write(key: string, value: string | null): Promise<void> {
    const store = memoryStore({ disk: this.disk });
    const { epoch, position } = await store.acquire();
    const encoder = new GroupEncoder();
    encoder.add(value === null ? RecordKind.delete : RecordKind.put, key, value ?? '');
    await store.append(epoch, encoder.finish(position + 1, epoch));
    await store.close();
  }

  /** The records on the disk, as a restart would read them. */
  async records(): Promise<Map<string, string>> {
    const store = memoryStore({ disk: this.disk });
    await store.acquire();
    const records = new Map<string, string>();
    for await (const batch of store.states()) {
      for (const { key, value } of readRecords(batch, 0)) records.set(key, value);
    }
    for await (const group of store.groups()) {
      for (const { kind, key, value } of readGroup(group)) {
        if (kind === RecordKind.put) records.set(key, value);
        else if (kind === RecordKind.delete) records.delete(key);
      }
    }
    await store.close();
    return records;
  }

  /** Rewrites the record of a procedure between two lives. */
  async tamper(number: number, edit: (row: Record<string, unknown>) => unknown): Promise<void> {
    const key = `p/${number}`;
    const text = (await this.records()).get(key);
    if (text === undefined) throw new Error(`there is no record ${key}`);
    const edited = edit(JSON.parse(text) as Record<string, unknown>);
    await this.write(key, typeof edited === 'string' ? edited : JSON.stringify(edited));
  }

  close(runtime: Runtime): Promise<void> {
    return this.run(runtime.close());
  }

  /** Messages of a level, in order. */
  told(level: Notice['level']): string[] {
    return this.notices.filter((notice) => notice.level === level).map(({ message }) => message);
  }
}

function livingClock(clock: VirtualClock, isDead: () => boolean): Clock {
  const guarded = (run: () => void) => (): void => {
    if (!isDead()) run();
  };
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    setTimeout: (run, delayMs) => clock.setTimeout(guarded(run), delayMs),
    clearTimeout: (handle) => {
      clock.clearTimeout(handle);
    },
    setImmediate: (run) => {
      clock.setImmediate(guarded(run));
    },
  };
}

/** The code of the error a promise rejects with; `undefined` when it resolves. */
export async function codeOf(promise: Promise<unknown>): Promise<string | undefined> {
  try {
    await promise;
    return undefined;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

/** State, status and context of a procedure as anybody outside sees them. */
export function seen(
  runtime: Runtime,
  id: string,
): { value: unknown; status: string; context: unknown } {
  const snapshot = runtime.get(id)?.getSnapshot() as
    { value: unknown; status: string; context: unknown } | undefined;
  if (snapshot === undefined) throw new Error(`there is no procedure ${id}`);
  const { value, status, context } = snapshot;
  return { value, status, context };
}
