/**
 * Tables of the code against the documents that show them. With UPDATE=1 the test writes the
 * documents anew from the tables, and adds new names to the list of those that must stay.
 */
import type { Breaches, Tree } from './tidy-tree.ts';

/** The cells of one row, as text. */
export type Row = readonly string[];

export interface ErrorEntry {
  readonly acts: string;
  readonly cause: string;
  readonly remedy: string;
}

export interface Bounds {
  readonly default: number | null;
  readonly min: number;
  readonly max: number;
}

export interface LimitEntry extends Bounds {
  readonly what: string;
  readonly unit: string;
  readonly atLimit: string;
  readonly code?: string;
}

export function errorRows(errors: Readonly<Record<string, ErrorEntry>>): readonly Row[] {
  const rows = Object.entries(errors);
  return rows.map(([code, { acts, cause, remedy }]) => [`\`${code}\``, acts, cause, remedy]);
}

export function limitRows(limits: Readonly<Record<string, LimitEntry>>): readonly Row[] {
  return Object.entries(limits).map(([name, row]) => [
    `\`${name}\``,
    row.what,
    row.unit,
    ...boundCells(row),
    row.atLimit,
    row.code === undefined ? '' : `\`${row.code}\``,
  ]);
}

/** Name, default, minimum and maximum of each option. */
export function boundRows(options: Readonly<Record<string, Bounds>>): readonly Row[] {
  return Object.entries(options).map(([name, row]) => [`\`${name}\``, ...boundCells(row)]);
}

function boundCells({ default: standard, min, max }: Bounds): Row {
  return [standard, min, max].map((value) => (value === null ? 'none' : grouped(value)));
}

function grouped(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/**
 * The first table below `heading` of a document holds exactly `rows`, in their order. Only the
 * columns named by `columns` are compared, when given.
 */
export function tableDiffers(
  tree: Tree,
  path: string,
  heading: string,
  rows: readonly Row[],
  columns?: readonly number[],
): Breaches {
  const found = readTable(tree.get(path) ?? '', heading);
  if (found === undefined) return [`${path} has no table below '${heading}'`];
  const shown = found.rows.map((row) => (columns ? columns.map((i) => row[i] ?? '') : row));
  const [want, have] = [rows.map(lineOf), shown.map(lineOf)];
  const lacks = want.filter((line) => !have.includes(line)).map((line) => `${path} lacks ${line}`);
  const extra = have.filter((line) => !want.includes(line)).map((line) => `${path} only: ${line}`);
  if (lacks.length + extra.length > 0) return [...lacks, ...extra];
  return want.join() === have.join() ? [] : [`${path}: the rows of '${heading}' are out of order`];
}

/** The document with the rows of the table below `heading` replaced. */
export function withTable(text: string, heading: string, rows: readonly Row[]): string {
  const found = readTable(text, heading);
  if (found === undefined) throw new Error(`no table below '${heading}'`);
  const lines = text.split('\n');
  lines.splice(found.first, found.rows.length, ...rows.map(lineOf));
  return lines.join('\n');
}

function readTable(text: string, heading: string): { rows: Row[]; first: number } | undefined {
  const lines = text.split('\n');
  const start = lines.indexOf(heading);
  if (start === -1) return undefined;
  const rule = lines.findIndex((line, i) => i > start && /^\|[ :|-]+\|$/.test(line));
  const next = lines.findIndex((line, i) => i > start && /^#+ /.test(line));
  if (rule === -1 || (next !== -1 && next < rule)) return undefined;
  const rows: Row[] = [];
  for (let i = rule + 1; lines[i]?.startsWith('|'); i++) rows.push(cellsOf(lines[i] ?? ''));
  return { rows, first: rule + 1 };
}

function cellsOf(line: string): Row {
  const cells = line.slice(1, -1).split(/(?<!\\)\|/);
  return cells.map((cell) => cell.trim().replaceAll('\\|', '|'));
}

function lineOf(row: Row): string {
  const cells = row.map((cell) => ` ${cell.replaceAll('|', '\\|')} `.replace(/^ {2}$/, ' '));
  return `|${cells.join('|')}|`;
}

/** `kind name` of everything whose name may be stored or matched on, and so has to stay. */
export function lastingNames(tables: Readonly<Record<string, object>>): readonly string[] {
  return Object.entries(tables).flatMap(([kind, table]) =>
    Object.keys(table).map((name) => `${kind} ${name}`),
  );
}

/** Every name of the list is still there, and every name that is there is on the list. */
export function namesDiffer(tree: Tree, path: string, names: readonly string[]): Breaches {
  const kept = (tree.get(path) ?? '').split('\n').filter((line) => /^[a-z]+ \S+$/.test(line));
  return [
    ...kept.filter((name) => !names.includes(name)).map((name) => `${name} is gone`),
    ...names.filter((name) => !kept.includes(name)).map((name) => `${path} lacks ${name}`),
  ];
}
