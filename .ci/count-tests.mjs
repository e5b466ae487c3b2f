/**
 * Prints `passed failed` of a report of vitest's JSON reporter; `0 0` when there is no report. A
 * file that could not be loaded holds no tests and counts as one that failed.
 */
import { readFileSync } from 'node:fs';

function count(file) {
  let report;
  try {
    report = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return [0, 0];
  }
  const unloaded = report.testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  );
  return [report.numPassedTests, report.numFailedTests + unloaded.length];
}

console.log(count(process.argv[2]).join(' '));
