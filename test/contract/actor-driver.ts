/**
 * One script, two interpreters: a driver starts a machine and gives a handle by which a script
 * sends events, lets virtual time pass and reads. `createActorDriver` is XState itself.
 */
import {
  type AnyActorRef,
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createActor,
  type InspectionEvent,
} from 'xstate';
import { type VirtualClock, virtualClock } from '../../src/world/virtual-clock.ts';
import { type Channels, Transcript } from './actor-transcript.ts';

/** What a machine under test may use: its notes, and the only time there is. */
export interface Stage {
  readonly clock: VirtualClock;
  readonly notes: Transcript;
}

export interface StartOptions {
  readonly id?: string;
  readonly input?: unknown;
  readonly inspect?: (event: InspectionEvent) => void;
  /** Machines that are spawned by their logic itself: a runtime has to be told of those. */
  readonly companions?: readonly AnyStateMachine[];
}

export interface Driver {
  readonly name: string;
  /** Starts the machine, watches it from its first snapshot on, and lets all of it settle. */
  start(machine: AnyStateMachine, stage: Stage, options: StartOptions): Promise<Handle>;
}

export interface Behaviour {
  /** What XState does, in a sentence. */
  readonly name: string;
  readonly machine: (stage: Stage) => AnyStateMachine;
  readonly input?: unknown;
  readonly companions?: readonly AnyStateMachine[];
  /** Why the script cannot be cut by restarts: what it holds that lives in one process only. */
  readonly inOneProcess?: 'live child' | 'observer' | 'ref of a child';
  /** Drives the machine and expects what the name says; the same on every driver. */
  readonly run: (handle: Handle, stage: Stage) => Promise<void> | void;
}

type Sendable = string | AnyEventObject;

/** What a driver has started. */
export interface Subject {
  readonly ref: AnyActorRef;
  /** Called before each step of the script; may put another ref in the place of the last one. */
  interrupt?(): Promise<void>;
  close(): Promise<void>;
}

/** A running machine. Every step counts up, acts, and returns when nothing is left to do. */
export class Handle {
  readonly notes: Transcript;
  readonly #subject: Subject;
  readonly #clock: VirtualClock;

  constructor(subject: Subject, stage: Stage) {
    this.#subject = subject;
    this.notes = stage.notes;
    this.#clock = stage.clock;
  }

  get ref(): AnyActorRef {
    return this.#subject.ref;
  }

  get snapshot(): AnyMachineSnapshot {
    return this.ref.getSnapshot() as AnyMachineSnapshot;
  }

  get value(): unknown {
    return this.snapshot.value;
  }

  get context(): Record<string, unknown> {
    return this.snapshot.context as Record<string, unknown>;
  }

  /** The child of this id, also when it is a child of a child: `child('a', 'b')`. */
  child(...path: string[]): AnyActorRef | undefined {
    let ref: AnyActorRef | undefined = this.ref;
    for (const id of path) {
      ref = (ref?.getSnapshot() as AnyMachineSnapshot | undefined)?.children[id];
    }
    return ref;
  }

  /**
   * Sends one event after the other, each when nothing is left to do for the one before. A string
   * is an event without payload.
   */
  async send(...events: Sendable[]): Promise<void> {
    for (const event of events) await this.sendTogether(event);
  }

  /** Sends the events at once, one behind the other. */
  async sendTogether(...events: Sendable[]): Promise<void> {
    await this.act(() => {
      for (const event of events) {
        this.ref.send(typeof event === 'string' ? { type: event } : event);
      }
    });
  }

  async advance(ms: number): Promise<void> {
    await this.#subject.interrupt?.();
    this.notes.step++;
    await this.#clock.advance(ms);
  }

  async act(run: () => void): Promise<void> {
    await this.#subject.interrupt?.();
    this.notes.step++;
    run();
    await this.#clock.settle();
  }

  /** What an actor noted since the last call, in order. */
  said(actor = 'root'): string[] {
    return this.notes.said(actor);
  }

  /** Adds a value to the transcript. */
  read(name: string, value: unknown): void {
    this.notes.read(name, value);
  }

  /** Adds plain data to the transcript as it stands. */
  readData(name: string, data: object): void {
    this.notes.reads.push({ step: this.notes.step, name, data });
  }

  close(): Promise<void> {
    return this.#subject.close();
  }
}

export const createActorDriver: Driver = {
  name: 'createActor',
  async start(machine, stage, { id = 'subject', input, inspect }) {
    const { clock, notes } = stage;
    const ref = createActor(machine, {
      id,
      input,
      clock,
      logger: (...values: unknown[]) => notes.log(...values),
      ...(inspect ? { inspect } : {}),
    });
    notes.watch(ref);
    ref.start();
    await clock.settle();
    const close = async (): Promise<void> => {
      ref.stop();
      await clock.settle();
    };
    return new Handle({ ref, close }, stage);
  },
};

/** Runs a behaviour from start to end; its transcript is that of the script, not of the closing. */
export async function perform(driver: Driver, behaviour: Behaviour): Promise<Channels> {
  const stage: Stage = { clock: virtualClock(), notes: new Transcript() };
  const { machine, input, companions = [] } = behaviour;
  const handle = await driver.start(machine(stage), stage, { input, companions });
  try {
    await behaviour.run(handle, stage);
    handle.read('at the end', handle.snapshot);
    return structuredClone(stage.notes.all());
  } finally {
    await handle.close();
  }
}
