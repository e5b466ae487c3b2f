/** Which program a row is read with, and the row as that program wants it. Pure. */
import { ReeveError } from '../../model/errors.ts';
import { assertJson, type Json } from '../../model/json.ts';
import type { MigratedState, Program } from '../interpreter/program.ts';
import type { Registry } from '../interpreter/registry.ts';
import { isTerminal, type ProcedureRow } from '../records/row.ts';

/** Throws MACHINE_UNKNOWN, VERSION_UNKNOWN, MACHINE_CHANGED or ROW_UNFIT with the reason. */
export function currentProgram(registry: Registry, row: ProcedureRow): [Program, ProcedureRow] {
  const newest = registry.newest(row.machine);
  if (newest === undefined) {
    throw new ReeveError('MACHINE_UNKNOWN', `no machine '${row.machine}' was given`, {
      machine: row.machine,
    });
  }
  const program = registry.version(row.machine, row.version);
  // What has ended stays as it ended.
  if (isTerminal(row.status)) return [program ?? newest, row];
  if (newest.version > row.version && newest.migrate[row.version] !== undefined) {
    return [newest, migrated(newest, row)];
  }
  if (program === undefined) {
    throw new ReeveError(
      'VERSION_UNKNOWN',
      `machine '${row.machine}' version ${row.version} was not given, and no migration from it`,
      { machine: row.machine, version: row.version },
    );
  }
  if (program.positional && program.print !== row.print) {
    throw new ReeveError(
      'MACHINE_CHANGED',
      `machine '${row.machine}' changed under version ${row.version}; it has unnamed actions or ` +
        'invokes, which are known by their position only',
      { machine: row.machine, version: row.version },
    );
  }
  return [program, row];
}

/** Stands for a machine that the code no longer knows, so that its procedure can be listed. */
export function missingProgram(row: ProcedureRow): Program {
  const unknown = (): never => {
    throw new ReeveError('MACHINE_UNKNOWN', `no machine '${row.machine}' was given`, {
      machine: row.machine,
    });
  };
  return {
    kind: 'logic',
    key: row.machine,
    version: row.version,
    print: row.print,
    positional: false,
    migrate: {},
    start: unknown,
    transition: unknown,
    store: unknown,
    restore: unknown,
    child: () => undefined,
    srcOf: () => undefined,
    skipsMissed: () => false,
  };
}

function migrated(program: Program, row: ProcedureRow): ProcedureRow {
  let state: MigratedState = { state: row.state, context: row.context };
  for (let version = row.version; version < program.version; version++) {
    const step = program.migrate[version];
    if (step === undefined) {
      throw new ReeveError(
        'VERSION_UNKNOWN',
        `machine '${row.machine}' has no migration from version ${version}`,
        { machine: row.machine, version },
      );
    }
    try {
      // A copy: unsettled effects still need the context they saw.
      state = checked(step(JSON.parse(JSON.stringify(state)) as MigratedState));
    } catch (cause) {
      throw new ReeveError(
        'ROW_UNFIT',
        `the migration of '${row.machine}' from version ${version} failed`,
        { machine: row.machine, version },
        cause,
      );
    }
  }
  const { version, print } = program;
  const refs = row.refs ? { refs: true as const } : {};
  const effects = row.effects?.map((effect) => ({ context: row.context, ...refs, ...effect }));
  return {
    ...row,
    version,
    print,
    state: state.state,
    context: state.context,
    ...(effects === undefined ? {} : { effects }),
  };
}

/** What a migration gave, as a record can keep it; what it does not say is null. */
function checked(given: { readonly state?: Json; readonly context?: Json }): MigratedState {
  const { state = null, context = null } = given;
  assertJson(state, 'the migrated state');
  assertJson(context, 'the migrated context');
  return { state, context };
}
