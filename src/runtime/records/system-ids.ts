/** Which child holds which `systemId` in a tree of procedures; follows the heads of the rows. */
import { NONE, type ProcedureRow, type StoredChild } from './row.ts';

export interface SystemIdHolder {
  readonly procedure: number;
  readonly child: string;
}

export class SystemIds {
  readonly #trees = new Map<number, Map<string, SystemIdHolder>>();

  get(root: number, systemId: string): SystemIdHolder | undefined {
    return this.#trees.get(root)?.get(systemId);
  }

  all(root: number): ReadonlyMap<string, SystemIdHolder> {
    return this.#trees.get(root) ?? new Map();
  }

  /** Follows a row's change, in either direction. */
  follow(before: ProcedureRow | undefined, after: ProcedureRow | undefined): void {
    if (before?.children === after?.children) return;
    for (const child of before?.children ?? NONE) this.#release(before, child);
    for (const child of after?.children ?? NONE) this.#hold(after, child);
  }

  #release(row: ProcedureRow | undefined, child: StoredChild): void {
    if (child.systemId === undefined || row === undefined) return;
    const tree = this.#trees.get(row.root);
    const holder = tree?.get(child.systemId);
    if (holder?.procedure !== row.number || holder.child !== child.id) return;
    tree?.delete(child.systemId);
    if (tree?.size === 0) this.#trees.delete(row.root);
  }

  #hold(row: ProcedureRow | undefined, child: StoredChild): void {
    if (child.systemId === undefined || row === undefined || child.ended) return;
    const tree = this.#trees.get(row.root) ?? new Map<string, SystemIdHolder>();
    tree.set(child.systemId, { procedure: row.number, child: child.id });
    this.#trees.set(row.root, tree);
  }
}
