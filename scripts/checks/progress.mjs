// Tells how far a long run of tests is, on descriptor 3: standard output holds what the tests and their programs say,
// which is printed only when something failed.
import { writeSync } from 'node:fs';

const PROGRESS_DESCRIPTOR = 3;

/** A line for each tenth of the files. */
const PARTS = 10;

/** A reporter of vitest that prints a line for each failed test and each tenth of the files. */
export default class Progress {
  #files = 0;
  #done = 0;
  #failed = 0;

  /** @param {readonly unknown[]} files */
  onTestRunStart(files) {
    this.#files = files.length;
  }

  /** @param {import('vitest/node').TestModule} file */
  onTestModuleEnd(file) {
    for (const test of file.children.allTests('failed')) {
      this.#failed++;
      const message = test.result().errors?.[0]?.message ?? '';
      say(`  failed: ${file.relativeModuleId}: ${test.fullName}: ${message.split('\n')[0]}`);
    }
    const part = (/** @type {number} */ files) => Math.floor((files * PARTS) / this.#files);
    this.#done++;
    if (part(this.#done) > part(this.#done - 1) && this.#done < this.#files)
      say(`  ${file.project.name}: ${this.#done} of ${this.#files} files, ${this.#failed} tests failed`);
  }
}

/** @param {string} line */
const say = (line) => writeSync(PROGRESS_DESCRIPTOR, `${line}\n`);
