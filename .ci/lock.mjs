/**
 * One installer and one compiler at a time in a tree: two scripts started together would delete
 * each other's `node_modules`.
 *
 * The lock is a directory that is renamed into place with its `owner` file already inside, so that
 * it never exists without a name. It is stale when neither its owner nor the child that the owner
 * named last (npm outlives a killed parent) is alive; a process is known by its id and, where
 * /proc tells it, by its start, because ids come again.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { interrupted } from './children.mjs';

const LOCK = '.reeve-lock';
/** Held for the moment in which a stale lock is taken away, so that nobody takes away a new one. */
const BROOM = `${LOCK}.broom`;
const BROOM_STALE_MS = 10_000;
const POLL_MS = 250;

/**
 * Runs `work(lock)` alone in this tree; `lock.names(pid)` adds a child to the owner's name.
 * Resolves with null when `work` was done, or with how to end when a signal came while waiting.
 */
export async function withTreeLock(work) {
  for (let waits = 0; !tryLock(); waits++) {
    const holder = readHolder();
    if (waits === 0 && holder !== null) {
      console.log(`reeve: process ${holder.pid} is preparing this tree; waiting for it ...`);
    }
    if (holder !== null && !holder.alive) sweep();
    else await sleep(POLL_MS);
    if (interrupted() !== null) return interrupted();
  }
  process.on('exit', discard);
  try {
    return await work({ names: (child) => writeOwner(LOCK, child) });
  } finally {
    process.off('exit', discard);
    discard();
  }
}

function tryLock() {
  const own = `${LOCK}.${process.pid}`;
  rmSync(own, { recursive: true, force: true });
  mkdirSync(own);
  writeOwner(own);
  try {
    renameSync(own, LOCK);
    return true;
  } catch (error) {
    rmSync(own, { recursive: true, force: true });
    // A directory that is not empty is not replaced: somebody holds the lock.
    if (['ENOTEMPTY', 'EEXIST', 'EPERM'].includes(error.code)) return false;
    throw error;
  }
}

/** Renamed first: what is being removed must not be where another process puts its lock. */
function discard() {
  const away = `${LOCK}.${process.pid}.gone`;
  renameSync(LOCK, away);
  rmSync(away, { recursive: true, force: true });
}

/** Takes away a lock whose owner is dead. */
function sweep() {
  try {
    mkdirSync(BROOM);
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    if (ageMs(BROOM) > BROOM_STALE_MS) rmSync(BROOM, { recursive: true, force: true });
    return;
  }
  try {
    if (readHolder()?.alive === false) discard();
  } finally {
    rmSync(BROOM, { recursive: true, force: true });
  }
}

/** Who holds the lock; null when nobody does. */
function readHolder() {
  try {
    const names = readFileSync(`${LOCK}/owner`, 'utf8').trim().split(' ');
    return { pid: Number.parseInt(names[0], 10), alive: names.some(isAlive) };
  } catch {
    return null;
  }
}

function writeOwner(lock, child) {
  const names = [process.pid, ...(child === undefined ? [] : [child])].map(nameOf);
  const draft = `${lock}/owner.${process.pid}`;
  writeFileSync(draft, names.join(' '));
  renameSync(draft, `${lock}/owner`);
}

/** Id and start of a process. */
function nameOf(pid) {
  return `${pid}:${startOf(pid)}`;
}

function isAlive(name) {
  const [pid, start] = name.split(':');
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    if (error.code !== 'EPERM') return false;
  }
  return startOf(pid) === start;
}

/** When a process was started, in ticks since the machine was; '' where nothing tells. */
function startOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return '';
  }
}

function ageMs(path) {
  try {
    return Date.now() - statSync(path).mtimeMs;
  } catch {
    return 0;
  }
}
