/**
 * The row a step is making. Nothing in it touches the procedure until the whole step is known to be
 * good; a step that breaks a rule leaves no trace but its quarantine.
 */
import type { EventObject } from 'xstate';
import { attemptId } from '../../model/attempt-id.ts';
import { ReeveError } from '../../model/errors.ts';
import type { Json } from '../../model/json.ts';
import type { AfterCommit, LiveEffect } from './commit-group.ts';
import type { LiveSnapshot } from '../interpreter/internals.ts';
import {
  NONE,
  type MailAct,
  type ProcedureRow,
  type StoredChild,
  type StoredEffect,
  type StoredTask,
  type StoredTimer,
} from '../records/row.ts';

export interface DraftLimits {
  readonly childrenMax: number;
  readonly effectsMax: number;
  readonly timersMax: number;
}

/** Mail a step sends; `to` is a procedure's number. */
export interface DraftMail {
  readonly to: number;
  readonly event: EventObject;
  readonly json: Json;
  readonly refs?: true;
  readonly child?: string;
  readonly arming?: number;
  readonly act?: MailAct;
}

export class RowDraft {
  readonly before: ProcedureRow;
  readonly seq: number;
  readonly mails: DraftMail[] = [];
  readonly after: AfterCommit[] = [];
  readonly emits: EventObject[] = [];
  readonly live: LiveEffect[] = [];
  readonly armedTimers: StoredTimer[] = [];
  children: readonly StoredChild[];
  tasks: readonly StoredTask[];
  timers: readonly StoredTimer[];
  effects: readonly StoredEffect[];
  armed: number;
  tasked: number;
  /** The snapshot's children as the step shall see them, when that differs from the snapshot. */
  childrenSeen: LiveSnapshot['children'];
  readonly #limits: DraftLimits;

  constructor(before: ProcedureRow, settled: ReadonlySet<string> | undefined, limits: DraftLimits) {
    this.before = before;
    this.seq = before.seq + 1;
    this.children = before.children ?? NONE;
    this.tasks = before.tasks ?? NONE;
    this.timers = before.timers ?? NONE;
    this.effects = unsettled(before.effects ?? NONE, settled);
    this.armed = before.armed;
    this.tasked = before.tasked;
    this.#limits = limits;
  }

  addEffect(stored: StoredEffect, live: LiveEffect): void {
    this.#limit('EFFECTS_LIMIT', this.effects.length + 1, this.#limits.effectsMax);
    this.effects = [...this.effects, stored];
    this.live.push(live);
  }

  /** Arming a timer with the id of an armed one replaces it. */
  armTimer(timer: Omit<StoredTimer, 'arming'>): void {
    const armed = { ...timer, arming: ++this.armed };
    this.timers = [...this.timers.filter(({ id }) => id !== timer.id), armed];
    this.#limit('TIMERS_LIMIT', this.timers.length, this.#limits.timersMax);
    this.armedTimers.push(armed);
  }

  cancelTimer(id: string): void {
    if (this.timers.some((timer) => timer.id === id)) {
      this.timers = this.timers.filter((timer) => timer.id !== id);
    }
  }

  addChild(child: Omit<StoredChild, 'arming'>): StoredChild {
    const armed = { ...child, arming: ++this.armed };
    this.children = [...this.children.filter(({ id }) => id !== child.id), armed];
    this.#limit('CHILDREN_LIMIT', this.children.length, this.#limits.childrenMax);
    return armed;
  }

  /** A new attempt of the child's task; it waits while an earlier one is not proven over (L4). */
  addTask(child: StoredChild, ledger: string): void {
    const attempt = attemptId(this.before.number, ++this.tasked);
    const busy = this.tasks.some((task) => task.child === child.id);
    const { id, src, arming, input } = child;
    const phase = busy ? 'waiting' : 'submitted';
    const task: StoredTask = {
      attempt,
      child: id,
      src,
      arming,
      ledger,
      phase,
      ...(input === undefined ? {} : { input }),
    };
    this.tasks = [...this.tasks, task];
    if (!busy) this.after.push({ do: 'submit-task', attempt, src });
  }

  /** Ends the task attempts of one life of a child: asks the running one, drops waiting ones. */
  stopTasks(child: StoredChild): void {
    const concerns = (task: StoredTask): boolean =>
      task.child === child.id && task.arming === child.arming;
    this.tasks = this.tasks
      .filter((task) => !(concerns(task) && task.phase === 'waiting'))
      .map((task) => {
        if (!concerns(task) || task.phase !== 'submitted') return task;
        this.after.push({ do: 'cancel-task', attempt: task.attempt, src: task.src });
        return { ...task, phase: 'stopping' as const };
      });
  }

  /** Removes an attempt that is proven over and submits the one that waited for it. */
  endTask(attempt: string): void {
    const ended = this.tasks.find((task) => task.attempt === attempt);
    if (ended === undefined) return;
    this.after.push({ do: 'forget-task', attempt, src: ended.src });
    const rest = this.tasks.filter((task) => task.attempt !== attempt);
    const next = rest.findIndex((task) => task.child === ended.child && task.phase === 'waiting');
    this.tasks = rest.map((task, index) => {
      if (index !== next) return task;
      this.after.push({ do: 'submit-task', attempt: task.attempt, src: task.src });
      return { ...task, phase: 'submitted' as const };
    });
  }

  #limit(code: 'EFFECTS_LIMIT' | 'TIMERS_LIMIT' | 'CHILDREN_LIMIT', n: number, max: number): void {
    if (n <= max) return;
    throw new ReeveError(
      code,
      `procedure '${this.before.id}' would have ${n}; the limit is ${max}`,
      {
        procedure: this.before.id,
        limit: max,
      },
    );
  }
}

/** How a settled effect of a procedure is remembered. */
export function settledKey({ seq, index }: StoredEffect): string {
  return `${seq}:${index}`;
}

/** The effects that are not settled yet. */
export function unsettled(
  effects: readonly StoredEffect[],
  settled: ReadonlySet<string> | undefined,
): readonly StoredEffect[] {
  if (settled === undefined || settled.size === 0) return effects;
  return effects.filter((effect) => !settled.has(settledKey(effect)));
}
