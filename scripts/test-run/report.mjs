// A vitest reporter: prints the progress of a long run on descriptor 3, and writes failures as JSON. Standard output
// contains the output of the tests and their programs, and is printed only after a failure.
import { writeFileSync, writeSync } from 'node:fs';

const PROGRESS_DESCRIPTOR = 3;

/** Number of progress lines: one after each tenth of the files. */
const PARTS = 10;

/**
 * One failed test, or a file or a group of tests whose hooks failed.
 * @typedef {object} Failure
 * @property {string} file      path from the root of the repository
 * @property {string} group     names of the describe blocks; '' at the top of the file
 * @property {string} test      name of the test, or of its group when a hook failed
 * @property {string} message   first line
 * @property {boolean} expired  a wait reached its limit; false: a wrong value or another error
 */

/**
 * @typedef {object} Report
 * @property {number} passed
 * @property {number} skipped
 * @property {Failure[]} failures      in the order of each file
 * @property {string[]} unhandled      errors outside tests
 * @property {{file: string, seconds: number}[]} files
 */

/** Messages of waits that reached their limit: from vitest (tests and hooks), and from Playwright. */
const EXPIRED = /^(Test|Hook) timed out in \d|\bTimeout \d+ ?ms exceeded/;

/**
 * Whether an error means that a wait reached its limit. `expect.poll` throws an error about the last wrong value, whose
 * cause is the expired wait. Pure.
 * @param {{name?: string, message?: string, cause?: unknown}} error
 * @returns {boolean}
 */
export function isExpiredWait({ name, message = '', cause }) {
  if (name === 'ExpiredWait' || name === 'TimeoutError' || EXPIRED.test(message)) return true;
  const { message: why } = /** @type {{message?: string}} */ (cause ?? {});
  return why === 'Matcher did not succeed in time.';
}

/** @param {string} line */
const say = (line) => writeSync(PROGRESS_DESCRIPTOR, `${line}\n`);

/** @param {readonly {name?: string, message?: string, cause?: unknown}[]} errors */
const summary = (errors) => ({
  message: (errors[0]?.message ?? 'without an error').split('\n')[0] ?? '',
  expired: errors.length > 0 && errors.every(isExpiredWait),
});

/** The reporter, for the option --reporter. It writes the JSON to the file in FOOTLIGHT_TEST_REPORT. */
export default class Reporter {
  #files = 0;
  #done = 0;
  #failed = 0;

  /** @param {readonly unknown[]} files */
  onTestRunStart(files) {
    this.#files = files.length;
  }

  /** @param {import('vitest/node').TestModule} file */
  onTestModuleEnd(file) {
    for (const { test, message } of failuresOf(file)) {
      this.#failed++;
      say(`  failed: ${file.relativeModuleId}: ${test}: ${message}`);
    }
    const part = (/** @type {number} */ files) => Math.floor((files * PARTS) / this.#files);
    this.#done++;
    if (part(this.#done) > part(this.#done - 1) && this.#done < this.#files)
      say(`  ${file.project.name}: ${this.#done} of ${this.#files} files, ${this.#failed} failed`);
  }

  /**
   * @param {readonly import('vitest/node').TestModule[]} files
   * @param {readonly import('vitest/node').SerializedError[]} unhandled
   */
  onTestRunEnd(files, unhandled) {
    const target = process.env.FOOTLIGHT_TEST_REPORT;
    if (target === undefined) return;
    const count = (/** @type {'passed' | 'skipped'} */ state) =>
      files.reduce((sum, file) => sum + [...file.children.allTests(state)].length, 0);
    /** @type {Report} */
    const report = {
      passed: count('passed'),
      skipped: count('skipped'),
      failures: files.flatMap(failuresOf),
      unhandled: unhandled.map((error) => `${error.name ?? 'Error'}: ${error.message}`),
      files: files.map((file) => ({
        file: file.relativeModuleId,
        seconds: file.diagnostic().duration / 1000,
      })),
    };
    writeFileSync(target, JSON.stringify(report));
  }
}

/** @param {import('vitest/node').TestModule} file @returns {Failure[]} */
function failuresOf(file) {
  const where = file.relativeModuleId;
  /** @type {Failure[]} */
  const failures = [];
  if (file.errors().length > 0)
    failures.push({ file: where, group: '', test: 'the file', ...summary(file.errors()) });
  for (const group of file.children.allSuites()) {
    if (group.errors().length > 0)
      failures.push({
        file: where,
        group: group.fullName,
        test: group.fullName,
        ...summary(group.errors()),
      });
  }
  for (const test of file.children.allTests('failed')) {
    const group = test.parent.type === 'suite' ? test.parent.fullName : '';
    failures.push({ file: where, group, test: test.fullName, ...summary(test.result().errors ?? []) });
  }
  return failures;
}
