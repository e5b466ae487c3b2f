/**
 * Compiles src, machines and actors into dist, as little as needed: dist never misses a file of a
 * source, and never keeps one of a source that is gone.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { interrupted, Refusal, run } from './children.mjs';

const DIST = 'dist';
/** Inside dist, so that whoever removes dist removes the memory of having built it. */
const MEMORY = `${DIST}/.tsbuildinfo`;
const ROOMS = ['src', 'machines', 'actors'];
const TSC = 'node_modules/typescript/bin/tsc';
const FLAGS = ['--noEmitOnError', '--inlineSources', '--incremental', '--tsBuildInfoFile', MEMORY];

/** Throws Refusal when the sources do not compile. */
export async function build(lock) {
  const sources = ROOMS.flatMap((room) => filesUnder(room)).filter((file) => /\.ts$/.test(file));
  const outputs = new Set(sources.flatMap(outputsOf));
  if ([...outputs].some((file) => !existsSync(file))) rmSync(MEMORY, { force: true });
  const end = await run(process.execPath, [TSC, '-p', '.', ...FLAGS], { started: lock.names });
  if (interrupted() !== null) return;
  if (end.code !== 0) throw new Refusal('the sources do not compile; the lines above say why.');
  for (const file of filesUnder(DIST)) {
    if (file !== MEMORY && !outputs.has(file)) rmSync(file);
  }
}

function outputsOf(source) {
  const stem = `${DIST}/${source.replace(/\.ts$/, '')}`;
  return [`${stem}.js`, `${stem}.js.map`, `${stem}.d.ts`];
}

function filesUnder(room) {
  if (!existsSync(room)) return [];
  return readdirSync(room, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}
