/**
 * A procedure in memory. `row` and `snapshot` are the head: they may run ahead of the disk inside
 * the groups on their way. `shown` is what has become durable and all that anybody outside sees.
 */
import type { ReeveError } from '../../model/errors.ts';
import type { LiveSnapshot } from '../interpreter/internals.ts';
import type { Program } from '../interpreter/program.ts';
import type { LocalActor } from './child-ref.ts';
import type { ProcedureRef } from './procedure-ref.ts';
import type { ProcedureRow } from '../records/row.ts';

export class Procedure {
  readonly slot: number;
  readonly number: number;
  readonly id: string;
  readonly program: Program;
  readonly ref: ProcedureRef;
  row: ProcedureRow;
  /** Undefined while the row cannot be read under the present code (quarantined). */
  snapshot: LiveSnapshot | undefined;
  /** JSON of `row`; made when the step is planned, so that a limit is met before it is too late. */
  json: string;
  shown: { readonly row: ProcedureRow; readonly snapshot: LiveSnapshot | undefined } | undefined;
  /** `seq:index` of effects that are settled in memory and not yet out of the row. */
  settled: Set<string> | undefined;
  /** Why the row does not fit the present code; whoever takes the next step sets it aside. */
  unfit: ReeveError | undefined;
  /** The row was brought to a newer version in memory; that must be committed. */
  migrated = false;
  /** It is being purged: nobody finds it any more. */
  leaving = false;
  /** Live children by id: promises, callbacks, observables. */
  locals: Map<string, LocalActor> | undefined;
  /** Groups on their way that hold a step of this procedure. */
  pinned = 0;
  /** Monotonic ms of the last step or look. */
  usedAt = 0;

  constructor(parts: {
    slot: number;
    program: Program;
    ref: ProcedureRef;
    row: ProcedureRow;
    snapshot: LiveSnapshot | undefined;
    json: string;
  }) {
    this.slot = parts.slot;
    this.number = parts.row.number;
    this.id = parts.row.id;
    this.program = parts.program;
    this.ref = parts.ref;
    this.row = parts.row;
    this.snapshot = parts.snapshot;
    this.json = parts.json;
  }
}
