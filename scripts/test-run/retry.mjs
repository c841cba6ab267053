// Decides which end-to-end files are retried.

/** @typedef {import('./report.mjs').Failure} Failure */

/**
 * Files whose only fault is a wait that expired: a real picture may be late on a busy machine. Tests of one group build
 * on each other, so later failures in the same group are ignored. A wrong value that came first is never retried. Pure.
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
