/**
 * What can be seen of one run of a machine, in channels that are compared one by one: snapshots of
 * a subscriber, calls of named actions per actor, emitted events, log lines, and what the script
 * read. How the channels interleave is not compared: the runtime holds effects back until the
 * commit. Every line carries the number of the script's step it belongs to.
 */
import type { AnyActorRef, AnyEventObject, AnyMachineSnapshot } from 'xstate';

export interface Line {
  readonly step: number;
  readonly [what: string]: unknown;
}

export interface NoteParams {
  readonly what: string;
  readonly [key: string]: unknown;
}

interface NoteArgs {
  readonly context: unknown;
  readonly event: unknown;
}

/** An implementation for the named action `note`. */
export type NoteAction = (args: NoteArgs, params: NoteParams) => void;

/** Reference to the named action `note`, as a machine's config holds it. */
export function note(what: string): { type: 'note'; params: { what: string } } {
  return { type: 'note', params: { what } };
}

export interface Channels {
  readonly snapshots: readonly Line[];
  readonly actions: Readonly<Record<string, readonly Line[]>>;
  readonly emitted: readonly Line[];
  readonly logs: readonly Line[];
  readonly reads: readonly Line[];
}

export class Transcript {
  readonly snapshots: Line[] = [];
  readonly actions: Record<string, Line[]> = {};
  readonly emitted: Line[] = [];
  readonly logs: Line[] = [];
  readonly reads: Line[] = [];
  /** Number of the script's current step; 0 until the actor has started and settled. */
  step = 0;
  readonly #taken = new Map<string, number>();

  /** The action `note` of the actor `actor`: writes down its params, context and event. */
  of(actor: string): NoteAction {
    return ({ context, event }, params) => {
      this.say(actor, params.what, {
        params: plain(params),
        context: plain(context),
        event: plain(event),
      });
    };
  }

  say(actor: string, what: string, detail: object = {}): void {
    (this.actions[actor] ??= []).push({ step: this.step, what, ...detail });
  }

  /** What `actor` noted since the last call, in order. */
  said(actor = 'root'): string[] {
    return this.lines(actor).map((line) => line['what'] as string);
  }

  /** As `said`, with all that each line holds. Both share one reading position per actor. */
  lines(actor = 'root'): Line[] {
    const all = this.actions[actor] ?? [];
    const from = this.#taken.get(actor) ?? 0;
    this.#taken.set(actor, all.length);
    return all.slice(from);
  }

  /** The values the subscriber has seen, oldest first; `complete` and `error: ..` among them. */
  seen(): unknown[] {
    return this.snapshots.map((line) => line['ended'] ?? line['value']);
  }

  read(name: string, value: unknown): void {
    this.reads.push({ step: this.step, name, value: plain(value) });
  }

  /** Writes down all that comes from `ref` from now on. */
  watch(ref: AnyActorRef): void {
    ref.subscribe({
      next: (snapshot: AnyMachineSnapshot) => this.snapshot(snapshot),
      error: (error: unknown) => this.#ended(`error: ${messageOf(error)}`),
      complete: () => this.#ended('complete'),
    });
    ref.on('*', (event: AnyEventObject) => {
      this.emitted.push({ step: this.step, event: plain(event) });
    });
  }

  /**
   * Of the start only the last snapshot counts: `spawn` resolves when a commit is durable that may
   * hold more than the first step.
   */
  snapshot(snapshot: AnyMachineSnapshot): void {
    if (this.step === 0) this.snapshots.length = 0;
    this.snapshots.push({ step: this.step, ...view(snapshot) });
  }

  log(...values: unknown[]): void {
    this.logs.push({ step: this.step, values: plain(values) });
  }

  /** Everything, as plain data that two runs can be compared by. */
  all(): Channels {
    const { snapshots, actions, emitted, logs, reads } = this;
    return { snapshots, actions, emitted, logs, reads };
  }

  #ended(ended: string): void {
    this.snapshots.push({ step: this.step, ended });
  }
}

interface SeenSnapshot {
  readonly status: string;
  readonly value?: unknown;
  readonly context?: unknown;
  readonly tags?: ReadonlySet<string>;
  readonly output?: unknown;
  readonly error?: unknown;
  readonly children?: Readonly<Record<string, AnyActorRef>>;
}

/** The parts of a snapshot that an observer can rely on. */
function view(snapshot: SeenSnapshot): Record<string, unknown> {
  return {
    status: snapshot.status,
    value: plain(snapshot.value),
    context: plain(snapshot.context),
    tags: [...(snapshot.tags ?? [])].sort(),
    output: plain(snapshot.output),
    error: snapshot.error === undefined ? undefined : messageOf(snapshot.error),
    children: Object.keys(snapshot.children ?? {}).sort(),
  };
}

/**
 * A value as data: references by their id, snapshots by their visible parts, errors by their
 * message (the runtime hands errors on as plain data; see D4 in differences.test.ts).
 */
function plain(value: unknown): unknown {
  if (typeof value === 'function') return '(function)';
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Error) return `error: ${value.message}`;
  if (isRef(value)) return `ref: ${nameOf(value)}`;
  if (isSnapshot(value)) return view(value);
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [
      key,
      key === 'error' ? `error: ${messageOf(part)}` : plain(part),
    ]),
  );
}

/** A whole snapshot, or the plain data of one as the runtime hands it on in an event. */
function isSnapshot(value: object): value is SeenSnapshot {
  return 'status' in value && 'context' in value;
}

function isRef(value: object): value is AnyActorRef {
  return 'send' in value && 'getSnapshot' in value && 'sessionId' in value;
}

/** The id of an actor; those that were given none have one that no two runs share. */
function nameOf(ref: AnyActorRef): string {
  return ref.id === ref.sessionId ? '(anonymous)' : ref.id;
}

export function messageOf(error: unknown): string {
  const message = (error as { message?: unknown } | undefined)?.message;
  return typeof message === 'string' ? message : String(error);
}
