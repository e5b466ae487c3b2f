/** Words and addresses that no file of the tree may hold. */
import type { Breaches, Tree } from './tidy-tree.ts';

/** Written by npm; its package names are not our words. */
const LOCK_FILE = 'package-lock.json';

// Each pattern is spelt so that it does not find itself here.
const PROMISES = /\b(?:TO[D]O|FIX[M]E|X[X]X)\b/;
const ORIGIN = [
  /\b(?:ses[s]ions?(?! ?id\b)|agen[t]s?)\b/i,
  /\b(?:clau[d]e|anthro[p]ic|open[a]i|chat[g]pt|copi[l]ot|l[l]m)\b/i,
  /\/work\/(?:ma[i]n|sha[r]ed)\b/,
];
const REGISTRIES =
  /\b(?:registry\.[n]pmjs|registry\.[y]arnpkg|npm[m]irror|reg[.]npm|pypi[.]org|deb[.]debian)\b/i;
const ADDRESSES = /"resol[v]ed"\s*:|"git\+|^\s*registry\s*=/m;

/** What is not done is written down as an issue, not in the code. */
export function openPromises(tree: Tree): Breaches {
  return eachLine(tree, (path, line) => path !== LOCK_FILE && PROMISES.test(line));
}

/** Files tell of Reeve, and not of who wrote them, where or with what. */
export function wordsOfOrigin(tree: Tree): Breaches {
  return eachLine(tree, (path, line) => {
    return path !== LOCK_FILE && ORIGIN.some((pattern) => pattern.test(line));
  });
}

/** Where packages come from is the business of the machine that installs them. */
export function downloadAddresses(tree: Tree): Breaches {
  return eachLine(tree, (path, line) => {
    return REGISTRIES.test(line) || (/^(?:package|\.npmrc)/.test(path) && ADDRESSES.test(line));
  });
}

function eachLine(tree: Tree, isWrong: (path: string, line: string) => boolean): Breaches {
  return [...tree].flatMap(([path, text]) =>
    text
      .split('\n')
      .map((line, i) => ({ line, at: `${path}:${i + 1}` }))
      .filter(({ line }) => isWrong(path, line))
      .map(({ line, at }) => `${at} ${line.trim().slice(0, 80)}`),
  );
}
