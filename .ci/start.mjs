/**
 * The door of every npm script: `node .ci/start.mjs demo | test | build | check | format | bench`.
 * Needs nothing but Node and npm: it installs what is missing, builds, then runs what was asked
 * and ends as that ended. Arguments behind the name are passed on.
 *
 * Old versions of Node have to be able to read this file up to the check, so the rest is imported
 * afterwards.
 */
const NODE_MIN = [20, 19];

const found = process.versions.node.split('.').map(Number);
const tooOld = found[0] < NODE_MIN[0] || (found[0] === NODE_MIN[0] && found[1] < NODE_MIN[1]);

if (tooOld) {
  const wanted = NODE_MIN.join('.');
  console.error(`reeve: this is Node ${process.versions.node}; Node ${wanted} or newer is needed.`);
  process.exitCode = 1;
} else {
  import('./scripts.mjs').then(({ main }) => main(process.argv.slice(2)));
}
