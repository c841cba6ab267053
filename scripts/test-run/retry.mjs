// Decides which end-to-end test files are run again.

/** @typedef {import('./report.mjs').Failure} Failure */

/**
 * Returns the files whose only fault is a wait that expired, because a real picture may be late on a busy machine.
 * Tests of one group depend on each other, so later failures in the same group are ignored. If a wrong value was the
 * first failure of a group, the file is not retried. Pure.
 * @param {readonly Failure[]} failures in the order of each file
 * @returns {string[]} paths
 */
export function filesToRetry(failures) {
  const files = [...new Set(failures.map(({ file }) => file))];
  return files.filter((file) => {
    /** @type {Set<string>} */
    const late = new Set();
    return failures
      .filter((failure) => failure.file === file)
      .every(({ group, expired }) => {
        if (expired) late.add(group);
        return late.has(group);
      });
  });
}
