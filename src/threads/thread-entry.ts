/**
 * Where the entries of threads are, and how Node has to be told to run them: built as `.js` beside
 * the built modules, or as the `.ts` they are when the sources run as they are.
 */
const RUNS_FROM_SOURCE = import.meta.url.endsWith('.ts');

/** URL of the entry `name` in this folder. */
export function entryUrl(name: string): string {
  return new URL(`./${name}${RUNS_FROM_SOURCE ? '.ts' : '.js'}`, import.meta.url).href;
}

/**
 * Node's arguments for a thread; undefined: those of this process. Node before 22.18 reads no
 * TypeScript by itself, and loaders do not reach into threads: on Node 20 tsx installs its hooks
 * for ES modules in the main thread only, so the thread has to ask for them.
 */
export function entryArguments(): readonly string[] | undefined {
  if (!RUNS_FROM_SOURCE || 'typescript' in process.features) return undefined;
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const preload = encodeURIComponent(`import{register}from${loader};register()`);
  return [...process.execArgv, '--import', `data:text/javascript,${preload}`];
}
