/** The lock file can be installed from, on every machine. */
import type { Breaches, Tree } from './tidy-tree.ts';

interface LockEntry {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/**
 * Whatever a locked package depends on is locked too, also what only another platform needs: npm
 * refuses a lock file with a hole, which it makes itself when a registry lacks an optional package.
 */
export function lockHoles(tree: Tree): Breaches {
  const lock = JSON.parse(tree.get('package-lock.json') ?? '{}') as {
    readonly packages?: Readonly<Record<string, LockEntry>>;
  };
  const packages = lock.packages ?? {};
  return Object.entries(packages).flatMap(([path, entry]) =>
    Object.keys({ ...entry.dependencies, ...entry.devDependencies, ...entry.optionalDependencies })
      .filter((name) => !foldersAbove(path).some((above) => `${above}${name}` in packages))
      .map((name) => `${path || 'the project'} depends on ${name}, which is not locked`),
  );
}

/** Where Node looks for what the package at `path` imports. */
function foldersAbove(path: string): readonly string[] {
  const parts = path === '' ? [] : path.split('/node_modules/');
  const folders = parts.map((_, i) => `${parts.slice(0, i + 1).join('/node_modules/')}/`);
  return ['node_modules/', ...folders.map((folder) => `${folder}node_modules/`)];
}
