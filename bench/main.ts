/** All benches, one after the other, each in its own process; `npm run bench -- ring` runs one. */
import { spawnSync } from 'node:child_process';

const BENCHES = ['store', 'single', 'transitions', 'mail-ring', 'waiting'] as const;

const wanted = process.argv.slice(2);
for (const name of BENCHES) {
  if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue;
  console.log(`\n${name}`);
  const file = new URL(`./${name}.ts`, import.meta.url).pathname;
  spawnSync(process.execPath, [...process.execArgv, file], { stdio: 'inherit' });
}
