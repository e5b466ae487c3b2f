/** The runtime as its users hold it. */
import type {
  ActorRefFrom,
  AnyStateMachine,
  EventFromLogic,
  InputFrom,
  InspectionEvent,
  Observer,
} from 'xstate';
import { ReeveError, toErrorData } from '../model/errors.ts';
import type { TableView } from '../model/table.ts';
import type { HistoryEntries } from '../store/port.ts';
import type { TimerHandle } from '../world/clock.ts';
import { hashInput } from './planning/births.ts';
import type { Engine } from './engine.ts';
import { acceptedEvents, explain, type Explanation } from './explain.ts';
import { assertOwnRefs, encodeValue } from './interpreter/actor-refs.ts';
import type { LiveSnapshot } from './interpreter/internals.ts';
import type { Program } from './interpreter/program.ts';
import { Listing, type ListPage, type ListQuery } from './population/listing.ts';
import type { DurableSendOptions, ProcedureRef } from './population/procedure-ref.ts';
import { isTerminal, type DeadLetter, type ProcedureStatus } from './records/row.ts';

/** An XState `ActorRef` of a durable procedure. */
export type DurableActorRef<Machine extends AnyStateMachine> = ActorRefFrom<Machine> & {
  readonly number: number;
  /** Resolves when the step the event caused is durable; rejects when nothing happened. */
  sendDurable(event: EventFromLogic<Machine>, options?: DurableSendOptions): Promise<void>;
};

export interface SpawnOptions<Machine extends AnyStateMachine> {
  /** 1 to 200 printable characters. Spawning it again with equal input gives the same procedure. */
  readonly id?: string;
  readonly input?: InputFrom<Machine>;
}

export interface RuntimeState {
  readonly epoch: number;
  /** Position of the last durable group. */
  readonly position: number;
  readonly procedures: number;
  /** Procedures that are objects in memory at present. */
  readonly live: number;
  readonly queued: number;
  readonly unsettledEffects: number;
  readonly runningTasks: number;
  readonly deadLetters: number;
  readonly staleEvents: { readonly mail: number; readonly timer: number; readonly task: number };
  readonly lateReports: number;
  /** Why the store refuses commits at present. */
  readonly storeError?: string;
}

export class Runtime {
  readonly #engine: Engine;
  readonly #listing: Listing;
  #spawned = 0;
  #closing: Promise<void> | undefined;

  /** @internal use `createRuntime` */
  constructor(engine: Engine) {
    this.#engine = engine;
    this.#listing = new Listing(
      engine.directory,
      (machine, state) => tagsOf(engine.registry.newest(machine), state),
      engine.limits.listPageMax,
    );
  }

  /**
   * Starts a procedure; resolves when its first step is durable. An id that exists with equal input
   * gives that procedure. Throws MACHINE_UNKNOWN, ID_INVALID, ID_CONFLICT, VALUE_NOT_JSON,
   * QUEUE_FULL, STORE_FULL, or what breaks a rule in the machine's first step.
   */
  async spawn<Machine extends AnyStateMachine>(
    machine: Machine | string,
    options: SpawnOptions<Machine> = {},
  ): Promise<DurableActorRef<Machine>> {
    const engine = this.#open();
    const program = engine.registry.resolve(machine);
    const id = options.id ?? this.#freeId(program.key);
    assertId(id);
    if (engine.queue.length >= engine.limits.queueMax) {
      throw new ReeveError('QUEUE_FULL', `${engine.queue.length} events wait`, {
        limit: engine.limits.queueMax,
      });
    }
    const given = options.input;
    const { json, refs } =
      given === undefined
        ? { json: undefined, refs: false }
        : encodeValue(given, 'input', () => undefined);
    if (refs) assertOwnRefs(given, engine.host, 'input');
    const input =
      json === undefined ? undefined : (JSON.parse(JSON.stringify(json)) as typeof json);
    await new Promise<void>((resolve, reject) => {
      engine.executor.post({
        kind: 'spawn',
        to: -1,
        id,
        program,
        input,
        refs,
        inputHash: hashInput(input),
        waiter: { resolve, reject },
      });
    });
    return this.#ref(id) as unknown as DurableActorRef<Machine>;
  }

  /** The procedure with this id; undefined when there is none. */
  get<Machine extends AnyStateMachine = AnyStateMachine>(
    id: string,
  ): DurableActorRef<Machine> | undefined {
    const { directory } = this.#engine;
    const slot = directory.slotOf(id);
    if (slot === undefined || !directory.isShown(slot)) return undefined;
    return this.#ref(id) as unknown as DurableActorRef<Machine>;
  }

  /** One page of procedures, in no particular order but the same from page to page. */
  list(query: ListQuery = {}): ListPage {
    return this.#listing.page(query);
  }

  /** Number of procedures by machine, state and status. */
  counts(): readonly { machine: string; state: string; status: string; count: number }[] {
    return [...this.#engine.directory.counts()];
  }

  /**
   * Ends a procedure and everything below it. Resolves when it has ended: every task is seen to
   * have stopped (L13). Resolves at once for one that has ended already.
   */
  async cancel(id: string): Promise<void> {
    const engine = this.#open();
    const number = this.#numberOf(id);
    const { promise: ended, forget } = this.#end(number);
    try {
      await Promise.all([
        ended,
        new Promise<void>((resolve, reject) => {
          engine.executor.post({
            kind: 'mail',
            to: number,
            event: { type: 'xstate.stop' },
            act: 'cancel',
            waiter: { resolve, reject },
          });
        }),
      ]);
    } finally {
      forget();
    }
  }

  /** Lets a quarantined procedure go on; its mail is delivered in order. */
  retry(id: string): Promise<void> {
    return this.#upkeep(this.#numberOf(id), 'retry');
  }

  /** What the procedure waits for, in data and in words. Throws PROCEDURE_UNKNOWN. */
  explain(id: string): Explanation {
    const engine = this.#engine;
    const number = this.#numberOf(id);
    const procedure = engine.population.find(number);
    if (procedure === undefined) throw unknown(id);
    const stalled = engine.executor.stalledBy;
    return explain(procedure, {
      now: engine.time.now(),
      monotonic: engine.clock.monotonic(),
      storeError: stalled === undefined ? undefined : toErrorData(stalled),
      effects: engine.effects.standing(procedure),
      standing: (attempt) => engine.tasks.standing(attempt),
      child: (child) => this.#childFacts(child),
      running: procedure.program.kind === 'set' ? engine.runningChildren(procedure).length : 0,
    });
  }

  /** Event types the procedure accepts in its present state. */
  accepts(id: string): readonly string[] {
    const procedure = this.#engine.population.find(this.#numberOf(id));
    return procedure === undefined ? [] : acceptedEvents(procedure);
  }

  /** One page of the procedure's history: who asked, when, which event, state after it. */
  history(id: string, page: { after?: string; limit?: number } = {}): Promise<HistoryEntries> {
    const { limit = 100, after } = page;
    const procedure = this.#numberOf(id);
    return this.#engine.store.history({
      procedure,
      limit,
      ...(after === undefined ? {} : { after }),
    });
  }

  /**
   * Removes an ended procedure with everything below it and its history; resolves when that is
   * durable, with the number of procedures removed. Throws PROCEDURE_UNKNOWN; removes nothing while
   * a part of the tree has not ended.
   */
  async purge(id: string): Promise<number> {
    const engine = this.#open();
    const tree = engine.retention.endedTree(this.#numberOf(id)) ?? [];
    await Promise.all(
      tree.map(
        (to) =>
          new Promise<void>((resolve, reject) => {
            engine.executor.post({ kind: 'purge', to, waiter: { resolve, reject } });
          }),
      ),
    );
    return tree.length;
  }

  /** The rows of a table, as planned so far. Throws TABLE_UNKNOWN. */
  table(name: string): TableView {
    return this.#engine.tables.view(name);
  }

  deadLetters(): readonly DeadLetter[] {
    return this.#engine.deadLetters.list();
  }

  /** XState's inspection events from now on. */
  inspect(observer: ((event: InspectionEvent) => void) | Observer<InspectionEvent>): {
    unsubscribe(): void;
  } {
    return this.#engine.inspector.add(observer);
  }

  state(): RuntimeState {
    const engine = this.#engine;
    const stalled = engine.executor.stalledBy;
    return {
      epoch: engine.reign.epoch,
      position: engine.executor.position,
      procedures: engine.directory.size,
      live: engine.population.liveCount,
      queued: engine.queue.length,
      unsettledEffects: engine.effects.count,
      runningTasks: engine.tasks.running,
      deadLetters: engine.deadLetters.count,
      staleEvents: engine.staleCounts,
      lateReports: engine.lateReports.length,
      ...(stalled === undefined ? {} : { storeError: toErrorData(stalled).message }),
    };
  }

  /**
   * Ends the runtime: takes no more calls, lets what is decided become durable and running effects
   * settle, for at most option `drainMs`, then stops tasks and closes the store. What was not
   * settled is asked for again at the next start.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const engine = this.#engine;
    if (!engine.executor.halted) {
      await drained(engine);
      await engine.executor.finish();
      engine.executor.halt();
      engine.stopActing();
      engine.executor.rejectAll(new ReeveError('STORE_CLOSED', 'the runtime was closed', {}));
    }
    try {
      await engine.tasks.close();
    } finally {
      await engine.store.close();
    }
  }

  #open(): Engine {
    if (this.#closing !== undefined || this.#engine.executor.halted) {
      throw new ReeveError('STORE_CLOSED', 'the runtime was closed', {});
    }
    return this.#engine;
  }

  #upkeep(to: number, what: 'retry'): Promise<void> {
    const engine = this.#open();
    return new Promise((resolve, reject) => {
      engine.executor.post({ kind: 'upkeep', what, to, waiter: { resolve, reject } });
    });
  }

  #ref(id: string): ProcedureRef {
    const ref = this.#engine.population.ref(this.#numberOf(id));
    if (ref === undefined) throw unknown(id);
    return ref;
  }

  /** The end of a procedure; rejects when the runtime ends first. */
  #end(number: number): { promise: Promise<void>; forget: () => void } {
    const engine = this.#engine;
    const { executor, watchers } = engine;
    let forget = (): void => undefined;
    const promise = new Promise<void>((resolve, reject) => {
      const waiter = { reject };
      const done = (): void => resolve();
      try {
        const shown = (): LiveSnapshot => engine.host.shownSnapshot(number);
        const watch = watchers.subscribe(number, { complete: done, error: done }, shown);
        executor.waiting.add(waiter);
        forget = () => {
          watch.unsubscribe();
          executor.waiting.delete(waiter);
        };
      } catch {
        // A procedure that cannot be read ends with its commit.
        resolve();
      }
    });
    return { promise, forget };
  }

  #freeId(machine: string): string {
    const { reign, directory } = this.#engine;
    for (;;) {
      const id = `${machine}-${reign.epoch}-${++this.#spawned}`;
      if (directory.slotOf(id) === undefined) return id;
    }
  }

  #numberOf(id: string): number {
    const { directory } = this.#engine;
    const slot = directory.slotOf(id);
    if (slot === undefined || !directory.isShown(slot)) throw unknown(id);
    return directory.numberOf(slot);
  }

  #childFacts(number: number): { id: string; state: string } | undefined {
    const { directory } = this.#engine;
    const slot = directory.slotOfNumber(number);
    if (slot === undefined) return undefined;
    const status: ProcedureStatus | undefined = directory.statusOf(slot);
    if (status === undefined || isTerminal(status)) return undefined;
    return { id: directory.idOf(slot), state: directory.stateOf(slot) };
  }
}

/** Beyond `drainMs`: so that what has settled until then is not done again at the next start. */
const FLUSH_MS = 50;

/** Lets the runtime come to rest, within the limit. */
async function drained(engine: Engine): Promise<void> {
  const { clock, limits, executor, effects, settling } = engine;
  const end = clock.monotonic() + limits.drainMs;
  const quiet = async (limitMs: number): Promise<void> => {
    // Procedures may go on writing to each other for ever.
    let timer: TimerHandle;
    const limit = new Promise<void>((resolve) => {
      timer = clock.setTimeout(resolve, limitMs);
    });
    await Promise.race([executor.quiet(), limit]);
    clock.clearTimeout(timer);
  };
  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      clock.setTimeout(resolve, 5);
    });
  await quiet(limits.drainMs);
  while (effects.count > 0 && clock.monotonic() < end) await pause();
  settling.flushAll();
  await quiet(Math.max(FLUSH_MS, end - clock.monotonic()));
}

function assertId(id: unknown): asserts id is string {
  // eslint-disable-next-line no-control-regex -- control characters are what it looks for
  const bad = typeof id !== 'string' || !/^[^\u0000-\u001f\u007f]{1,200}$/u.test(id);
  if (bad) {
    throw new ReeveError('ID_INVALID', 'an id has 1 to 200 characters, none of them control', {
      id: String(id).slice(0, 200),
    });
  }
}

function unknown(id: string): ReeveError {
  return new ReeveError('PROCEDURE_UNKNOWN', `there is no procedure '${id}'`, { procedure: id });
}

function tagsOf(program: Program | undefined, value: unknown): ReadonlySet<string> {
  try {
    const snapshot = program?.machine?.resolveState({ value: value as never, context: {} });
    return snapshot?.tags ?? new Set<string>();
  } catch {
    return new Set();
  }
}
