/** Mail between procedures: rows of the sender's group until the receiver takes them (L15). */
import type { EventObject } from 'xstate';
import type { Json } from '../../model/json.ts';
import type { CommitGroup } from './commit-group.ts';
import type { MailEnvelope } from './envelope.ts';
import { doneActorEvent, errorActorEvent } from '../interpreter/internals.ts';
import type { Procedure } from '../population/procedure.ts';
import type { DraftMail } from './row-draft.ts';
import type { DeadLetter, StoredMail } from '../records/row.ts';
import type { StepperNeeds } from './stepper-needs.ts';

export class Postman {
  readonly #needs: StepperNeeds;

  constructor(needs: StepperNeeds) {
    this.#needs = needs;
  }

  /** Posts mail of a step. At the receiver's limit it becomes a dead letter, which is visible. */
  post(mail: DraftMail, from: string, group: CommitGroup): void {
    const { queue, held, limits, counters } = this.#needs;
    const ordinary = mail.act === undefined && mail.child === undefined;
    const waiting = queue.waitingFor(mail.to) + (held.get(mail.to)?.length ?? 0);
    if (ordinary && waiting >= limits.mailboxMax) {
      this.deadLetter({ to: this.#nameOf(mail.to), from, event: mail.json }, 'mailbox-full', group);
      return;
    }
    const { to, json, refs, child, arming, act } = mail;
    const stored: StoredMail = {
      seq: counters.nextMail(),
      to,
      event: json,
      from,
      ...(refs ? { refs } : {}),
      ...(child === undefined ? {} : { child }),
      ...(arming === undefined ? {} : { arming }),
      ...(act === undefined ? {} : { act }),
    };
    group.addMail(stored);
    queue.push(envelopeOf(stored, group.serial));
  }

  /** Tells the parent of the procedure's end. */
  tellParent(procedure: Procedure, group: CommitGroup): void {
    const { row } = procedure;
    if (row.parent === undefined) return;
    const { number, child, arming } = row.parent;
    const to = { to: number, child, arming };
    if (row.status === 'stopped' && !row.cancelled) {
      const event = { type: 'reeve.child-ended' };
      this.post({ ...to, event, json: event, act: 'child-ended' }, row.id, group);
      return;
    }
    const event = endEvent(procedure, child);
    this.post({ ...to, event, json: event as unknown as Json }, row.id, group);
  }

  /** The parent asked for the child's snapshots (`onSnapshot`, `syncSnapshot`). */
  tellSnapshot(procedure: Procedure, group: CommitGroup): void {
    const { row } = procedure;
    if (row.parent === undefined) return;
    const { number, child, arming } = row.parent;
    // Logic other than a machine keeps its whole snapshot as the context.
    const snapshot =
      procedure.program.kind === 'logic'
        ? row.context
        : { status: row.status, value: row.state, context: row.context };
    const event = { type: `xstate.snapshot.${child}`, snapshot } as const;
    const refs = row.refs ? { refs: true as const } : {};
    this.post({ to: number, child, arming, event, json: event, ...refs }, row.id, group);
  }

  deadLetter(
    letter: { readonly to: string; readonly from?: string | undefined; readonly event: Json },
    reason: DeadLetter['reason'],
    group: CommitGroup,
  ): void {
    const { counters, deadLetters, time } = this.#needs;
    const { to, from, event } = letter;
    deadLetters.add(
      {
        seq: counters.nextMail(),
        to,
        event,
        reason,
        at: time.now(),
        ...(from === undefined ? {} : { from }),
      },
      group,
    );
  }

  #nameOf(number: number): string {
    const { directory } = this.#needs;
    const slot = directory.slotOfNumber(number);
    return slot === undefined ? String(number) : directory.idOf(slot);
  }
}

/** The envelope of a mail row, fresh or read at start-up. */
export function envelopeOf(mail: StoredMail, origin?: number): MailEnvelope {
  const { event, ...rest } = mail;
  return {
    kind: 'mail',
    ...rest,
    event: event as unknown as EventObject,
    ...(origin === undefined ? {} : { origin }),
  };
}

function endEvent({ row }: Procedure, child: string): EventObject {
  if (row.status === 'done') return doneActorEvent(child, row.output);
  if (row.status === 'error') return errorActorEvent(child, row.error);
  return errorActorEvent(child, {
    name: 'ReeveError',
    code: 'CANCELLED',
    message: `CANCELLED: '${row.id}' was cancelled`,
  });
}
