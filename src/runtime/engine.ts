/**
 * Puts the parts of the runtime together and routes between them. Decides nothing itself.
 */
import type { AnyActorLogic } from 'xstate';
import { toErrorData } from '../model/errors.ts';
import type { Limits } from '../model/options.ts';
import type { Table } from '../model/table.ts';
import type { TaskBinding } from '../model/task.ts';
import type { Reign, Store } from '../store/port.ts';
import type { Clock } from '../world/clock.ts';
import { ActorHost } from './actor-host.ts';
import { Alarm } from './upkeep/alarm.ts';
import { ArmedTimers } from './upkeep/armed-timers.ts';
import { Births } from './planning/births.ts';
import { ColdRows } from './population/cold-rows.ts';
import type { Step } from './planning/commit-group.ts';
import { Counters } from './records/counters.ts';
import { DeadLetters } from './planning/dead-letters.ts';
import { Directory } from './population/directory.ts';
import { DurableTime } from './records/durable-time.ts';
import { EffectRunner } from './acting/effect-runner.ts';
import type { Envelope } from './planning/envelope.ts';
import { Executor } from './executor.ts';
import { Inspector } from './acting/inspector.ts';
import { PlanScope } from './interpreter/plan-scope.ts';
import { Registry, type MachineEntry } from './interpreter/registry.ts';
import { KeyIndex } from './planning/key-index.ts';
import { LocalActors } from './acting/local-actors.ts';
import { MailQueue } from './planning/mail-queue.ts';
import { guardedLog, type RuntimeLog } from './notices.ts';
import { Passivation } from './upkeep/passivation.ts';
import { Population } from './population/population.ts';
import { Postman } from './planning/postman.ts';
import type { Procedure } from './population/procedure.ts';
import { Publisher } from './acting/publisher.ts';
import { recover, type Recovered } from './recovery/recover.ts';
import { prepareResumption, resumeLocals } from './recovery/resumption.ts';
import { Retention } from './upkeep/retention.ts';
import { isTerminal, NONE, type ProcedureRow } from './records/row.ts';
import { settledKey } from './planning/row-draft.ts';
import { Settling } from './upkeep/settling.ts';
import { StepCases } from './planning/step-cases.ts';
import { StepPlan } from './planning/step-plan.ts';
import { Stepper } from './planning/stepper.ts';
import type { StepperNeeds } from './planning/stepper-needs.ts';
import { SystemIds } from './records/system-ids.ts';
import { Tables } from './records/tables.ts';
import { TaskDesk } from './acting/task-desk.ts';
import { TimerQueue } from './records/timer-queue.ts';
import { Watchers } from './population/watchers.ts';

export interface EngineOptions {
  readonly machines: readonly MachineEntry[];
  readonly logics: Readonly<Record<string, AnyActorLogic>>;
  readonly bindings: Readonly<Record<string, TaskBinding>>;
  readonly tables: Readonly<Record<string, Table>>;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
  readonly limits: Limits;
  readonly strict: boolean;
  readonly logger: (...values: unknown[]) => void;
  readonly log: RuntimeLog;
  readonly inspect: unknown;
  readonly onFatal: (error: unknown) => void;
}

export class Engine {
  readonly host: ActorHost;
  readonly plan: PlanScope;
  readonly clock: Clock;
  readonly logger: (...values: unknown[]) => void;
  readonly watchers: Watchers;
  readonly inspector: Inspector;
  readonly registry: Registry;
  readonly tables: Tables;
  readonly limits: Limits;
  readonly directory = new Directory();
  readonly cold = new ColdRows();
  readonly timers = new TimerQueue();
  readonly queue = new MailQueue();
  readonly counters = new Counters();
  readonly systemIds = new SystemIds();
  readonly armedTimers = new ArmedTimers(this.timers);
  readonly held = new Map<number, Envelope[]>();
  readonly deadLetters: DeadLetters;
  readonly keys: KeyIndex;
  readonly population: Population;
  readonly locals: LocalActors;
  readonly effects: EffectRunner;
  readonly settling: Settling;
  readonly retention: Retention;
  readonly passivation: Passivation;
  readonly store: Store;
  readonly log: RuntimeLog;
  readonly reign: Reign;
  readonly staleCounts = { mail: 0, timer: 0, task: 0 };
  readonly lateReports: { readonly attempt: string; readonly outcome: unknown }[] = [];
  tasks!: TaskDesk;
  time!: DurableTime;
  executor!: Executor;
  publisher!: Publisher;
  alarm!: Alarm;
  readonly #onFatal: (error: unknown) => void;
  readonly #bindings: Readonly<Record<string, TaskBinding>>;

  constructor(options: EngineOptions, reign: Reign) {
    const { clock, limits } = options;
    const log = guardedLog(options.log);
    this.reign = reign;
    this.store = options.store;
    this.clock = clock;
    this.limits = limits;
    this.log = log;
    this.logger = options.logger;
    this.#onFatal = options.onFatal;
    this.#bindings = options.bindings;
    const report = (error: unknown): void => this.report(error);
    this.plan = new PlanScope(options.logger);
    this.watchers = new Watchers(report);
    this.inspector = new Inspector(report);
    if (options.inspect !== undefined) this.inspector.add(options.inspect);
    this.host = new ActorHost(this);
    this.tables = new Tables(options.tables);
    this.registry = new Registry(options.machines, {
      actors: options.logics,
      tables: this.tables.actionNames(),
      strict: options.strict,
      maxIterations: limits.maxIterations,
    });
    this.deadLetters = new DeadLetters(limits.deadLettersMax);
    this.keys = new KeyIndex(limits.idempotencyKeysMax);
    this.population = new Population({
      registry: this.registry,
      directory: this.directory,
      cold: this.cold,
      host: this.host,
      scope: this.plan,
      monotonic: () => clock.monotonic(),
      populated: () => this.passivation.wake(),
    });
    this.passivation = new Passivation(this);
    this.locals = new LocalActors({
      post: (envelope) => this.executor.post(envelope),
      input: (procedure, { input }) => this.host.liveValue(procedure, input, input !== undefined),
    });
    this.settling = new Settling(clock, limits.settleDelayMs, (number) => {
      this.executor.post({ kind: 'upkeep', what: 'settle', to: number });
    });
    this.retention = new Retention(this);
    this.effects = new EffectRunner({
      clock,
      random: options.random,
      limits,
      settled: (procedure, { stored }) => this.#settled(procedure, settledKey(stored)),
      failed: (procedure, { stored }, event) => {
        const settles = settledKey(stored);
        this.executor.post({ kind: 'mail', to: procedure.number, event, settles });
      },
      report: (error, { id }, { stored }) => {
        log.warn({ procedure: id, effect: stored.type, err: toErrorData(error) }, 'effect threw');
      },
    });
  }

  /** Reads the store back and begins to work. */
  async start(): Promise<void> {
    const recovered = await recover(this.store, this);
    this.time = new DurableTime(this.clock, recovered.at);
    this.tasks = new TaskDesk({
      bindings: this.#bindings,
      clock: this.clock,
      reign: this.reign.reign,
      post: (envelope) => this.executor.post(envelope),
      late: (attempt, outcome) => this.#late(attempt, outcome),
    });
    this.#assemble();
    try {
      await this.#resume(recovered);
    } catch (error) {
      await this.tasks.close();
      throw error;
    }
  }

  #assemble(): void {
    const needs: StepperNeeds = {
      ...this.#stepperParts(),
      follow: (before, after) => this.follow(before, after),
      ledgerOf: (task, src) => this.tasks.ledgerOf(task, src),
      stale: (what, procedure, detail) => {
        this.staleCounts[what]++;
        this.log.info({ procedure, what, detail }, 'stale event dropped');
      },
      runningChildren: (set) => this.runningChildren(set),
      settled: (procedure, key) => this.#settled(procedure, key),
    };
    const births = new Births(needs);
    const postman = new Postman(needs);
    const plan = new StepPlan(needs, postman, births.child);
    births.join(plan);
    const cases = new StepCases(needs, plan, postman, births);
    this.publisher = new Publisher({
      clock: this.clock,
      directory: this.directory,
      registry: this.registry,
      population: this.population,
      effects: this.effects,
      locals: this.locals,
      tasks: this.tasks,
      watchers: this.watchers,
      inspector: this.inspector,
      sendLive: (target, event, from) => this.host.relay(from.ref, target, event),
      log: (values) => this.logger(...values),
      noticed: (step) => this.#noticed(step),
      report: (error) => this.report(error),
    });
    this.executor = new Executor({
      clock: this.clock,
      store: this.store,
      epoch: this.reign.epoch,
      position: this.reign.position,
      queue: this.queue,
      stepper: new Stepper({ needs, plan, cases, births, postman }),
      counters: this.counters,
      limits: this.limits,
      now: () => this.time.now(),
      publish: (group, sealed) => this.publisher.publish(group, sealed),
      follow: (procedure, before) => {
        this.follow(procedure.row, before);
        // A timer that is armed again may have lost its entry; one that is due has mail on its way.
        const now = this.time.now();
        for (const { due } of before.timers ?? NONE) {
          if (due > now) this.timers.add(due, procedure.slot);
        }
      },
      uncreate: (procedure) => this.population.remove(procedure),
      turned: () => {
        this.armedTimers.tidy(this.population, this.directory);
        this.alarm.set();
      },
      fatal: (error) => this.fatal(error),
      report: (error) => this.report(error),
    });
    this.alarm = new Alarm(this.clock, this.time, this.timers, (slots, now) => {
      this.#ring(slots, now);
    });
  }

  #stepperParts() {
    const { registry, directory, population, tables, timers, time, plan, queue } = this;
    const { counters, deadLetters, keys, limits, held } = this;
    return {
      registry,
      directory,
      population,
      tables,
      timers,
      time,
      scope: plan,
      queue,
      counters,
      deadLetters,
      keys,
      limits,
      held,
    };
  }

  /** What was under way goes on before anything new is taken. */
  async #resume(recovered: Recovered): Promise<void> {
    const { resuming } = recovered;
    const mail = this.queue.sift(() => false);
    for (const number of resuming) prepareResumption(this, number);
    const last = resuming.at(-1);
    const prepared = last === undefined ? undefined : this.executor.mark(last);
    for (const envelope of mail) this.queue.push(envelope);
    if (mail.length > 0) this.executor.wake();
    // Only for this, not for the mail: procedures may go on writing to each other for ever.
    await prepared;
    for (const number of resuming) resumeLocals(this, number);
    this.effects.start();
    this.alarm.set();
    this.retention.start();
  }

  /** After this nothing acts any more; the process should end and recover by replay. */
  fatal(error: unknown): void {
    if (this.executor.halted) return;
    this.log.error({ err: toErrorData(error) }, 'the runtime has stopped: nothing acts any more');
    this.executor.halt();
    this.stopActing();
    this.executor.rejectAll(error);
    this.#onFatal(error);
  }

  stopActing(): void {
    this.alarm.clear();
    this.publisher.stop();
    this.effects.stop();
    this.settling.stop();
    this.retention.stop();
    this.passivation.stop();
    this.locals.stopAll();
  }

  report(error: unknown): void {
    this.log.error({ err: toErrorData(error) }, toErrorData(error).message);
  }

  follow(before: ProcedureRow | undefined, after: ProcedureRow | undefined): void {
    this.systemIds.follow(before, after);
    this.armedTimers.follow(before, after);
  }

  runningChildren(set: Procedure): number[] {
    const running: number[] = [];
    for (const slot of this.directory.childrenOf(set.slot)) {
      const number = this.directory.numberOf(slot);
      const status = this.population.peek(number)?.row.status ?? this.directory.statusOf(slot);
      if (status !== undefined && !isTerminal(status)) running.push(number);
    }
    return running.sort((a, b) => a - b);
  }

  #settled(procedure: Procedure, key: string): void {
    (procedure.settled ??= new Set()).add(key);
    this.settling.add(procedure);
  }

  #late(attempt: string, outcome: unknown): void {
    this.lateReports.push({ attempt, outcome });
    if (this.lateReports.length > this.limits.deadLettersMax) this.lateReports.shift();
    this.log.warn({ attempt, outcome }, 'late report of a task: kept, changes nothing');
  }

  #noticed({ procedure, row }: Step): void {
    if (row.status === 'quarantined') {
      this.log.error({ procedure: procedure.id, reason: row.quarantine?.error }, 'quarantined');
    } else if (isTerminal(row.status)) {
      this.retention.ended(row);
    }
  }

  /** Fires what is due, of all procedures in the order of the due times (C105). */
  #ring(slots: ReadonlySet<number>, now: number): void {
    const due = [...slots].flatMap((slot) => {
      const to = this.directory.numberOf(slot);
      const timers = this.population.find(to)?.row.timers ?? NONE;
      return timers.filter((timer) => timer.due <= now).map((timer) => ({ to, timer }));
    });
    due.sort((a, b) => a.timer.due - b.timer.due || a.to - b.to || a.timer.arming - b.timer.arming);
    for (const { to, timer } of due) {
      this.executor.post({ kind: 'timer', to, timer: timer.id, arming: timer.arming });
    }
  }
}
