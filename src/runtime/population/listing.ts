/** Questions about procedures, answered from memory: pages of a listing, counts. */
import { matchesState, type StateValue } from 'xstate';
import { ReeveError } from '../../model/errors.ts';
import { stateOfLabel, type Directory } from './directory.ts';
import type { ProcedureStatus } from '../records/row.ts';

export interface ProcedureFacts {
  readonly id: string;
  readonly number: number;
  readonly machine: string;
  /** State value; a string for a flat machine, an object for nested and parallel states. */
  readonly state: StateValue;
  readonly status: ProcedureStatus;
  readonly parent?: string;
}

export interface ListQuery {
  readonly machine?: string;
  /** As for XState's `matches`: `'a'` also finds `a.b`. */
  readonly state?: StateValue;
  readonly status?: ProcedureStatus;
  /** Finds procedures in a state with this tag. */
  readonly tag?: string;
  /** Id of the parent. */
  readonly parent?: string;
  /** Most rows of the page, from 1; default and upper limit: option `listPageMax`. */
  readonly limit?: number;
  /** Cursor of the page before. */
  readonly after?: string;
}

export interface ListPage {
  readonly procedures: readonly ProcedureFacts[];
  /** Cursor of the next page; absent when this was the last one. */
  readonly next?: string;
}

/** Tags of a machine's state; answered by the registry and remembered per label. */
export type TagsOf = (machine: string, state: StateValue) => ReadonlySet<string>;

export class Listing {
  readonly #directory: Directory;
  readonly #tagsOf: TagsOf;
  readonly #pageMax: number;
  /** By label: states and tags are few, procedures many. */
  readonly #values = new Map<string, StateValue>();

  constructor(directory: Directory, tagsOf: TagsOf, pageMax: number) {
    this.#directory = directory;
    this.#tagsOf = tagsOf;
    this.#pageMax = pageMax;
  }

  facts(slot: number): ProcedureFacts {
    const directory = this.#directory;
    const parent = directory.parentOf(slot);
    return {
      id: directory.idOf(slot),
      number: directory.numberOf(slot),
      machine: directory.machineOf(slot),
      state: this.#value(directory.stateOf(slot)),
      status: directory.statusOf(slot) ?? 'active',
      ...(parent === -1 ? {} : { parent: directory.idOf(parent) }),
    };
  }

  /** Throws OPTION_INVALID for an unknown filter and for a limit or cursor that is none. */
  page(query: ListQuery): ListPage {
    assertQuery(query);
    const limit = Math.min(query.limit ?? this.#pageMax, this.#pageMax);
    const procedures: ProcedureFacts[] = [];
    const wanted = this.#filter(query);
    for (const slot of this.#candidates(query)) {
      if (!this.#directory.isShown(slot) || !wanted(slot)) continue;
      if (procedures.length === limit) return { procedures, next: String(slot) };
      procedures.push(this.facts(slot));
    }
    return { procedures };
  }

  *#candidates(query: ListQuery): Generator<number> {
    const directory = this.#directory;
    const from = query.after === undefined ? 0 : Number(query.after);
    if (query.parent === undefined) {
      for (let slot = from; slot < directory.extent; slot++) yield slot;
      return;
    }
    const parent = directory.slotOf(query.parent);
    if (parent === undefined) return;
    const children = [...directory.childrenOf(parent)].sort((a, b) => a - b);
    for (const slot of children) if (slot >= from) yield slot;
  }

  #filter(query: ListQuery): (slot: number) => boolean {
    const directory = this.#directory;
    const verdicts = new Map<string, boolean>();
    return (slot) => {
      if (query.status !== undefined && directory.statusOf(slot) !== query.status) return false;
      const machine = directory.machineOf(slot);
      if (query.machine !== undefined && machine !== query.machine) return false;
      if (query.state === undefined && query.tag === undefined) return true;
      const state = directory.stateOf(slot);
      const label = `${machine}\n${state}`;
      let verdict = verdicts.get(label);
      if (verdict === undefined) {
        const value = this.#value(state);
        verdict =
          (query.state === undefined || matchesState(query.state, value)) &&
          (query.tag === undefined || this.#tagsOf(machine, value).has(query.tag));
        verdicts.set(label, verdict);
      }
      return verdict;
    };
  }

  #value(label: string): StateValue {
    let value = this.#values.get(label);
    if (value === undefined) {
      value = stateOfLabel(label) as StateValue;
      this.#values.set(label, value);
    }
    return value;
  }
}

const FILTERS: ReadonlySet<string> = new Set<keyof ListQuery>([
  'machine',
  'state',
  'status',
  'tag',
  'parent',
  'limit',
  'after',
]);

function assertQuery(query: ListQuery): void {
  const { limit, after } = query;
  const refuse = (option: string, rule: string): never => {
    throw new ReeveError('OPTION_INVALID', `list: ${rule}`, { option });
  };
  for (const option of Object.keys(query)) {
    if (!FILTERS.has(option)) refuse(option, `there is no filter '${option}'`);
  }
  if (limit !== undefined && !(Number.isInteger(limit) && limit > 0)) {
    refuse('limit', 'the limit is a whole number from 1');
  }
  if (after !== undefined && !/^\d{1,15}$/.test(after)) refuse('after', 'the cursor is none');
}
