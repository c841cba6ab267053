// Computes digests of sources, which show whether a built file is older than its sources.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

/** Folders with files that builds and installs create; these files are not sources. */
const MADE = new Set(['node_modules', 'dist']);

/** @param {string} place a file, or a folder whose files are all included @returns {string[]} */
function filesOf(place) {
  if (statSync(place).isFile()) return [place];
  return readdirSync(place, { withFileTypes: true })
    .filter((entry) => (entry.isDirectory() ? !MADE.has(entry.name) : entry.isFile()))
    .flatMap((entry) => filesOf(path.join(place, entry.name)));
}

/**
 * @param {string} root
 * @param {string[]} places  files and folders below root
 * @returns {string} a digest that changes with each name and byte of these files, and with this Node's version and
 * processor
 */
export function digestOf(root, places) {
  const hash = createHash('sha256').update(process.version).update(process.arch);
  for (const file of places.flatMap((place) => filesOf(path.join(root, place)).sort()))
    hash.update(path.relative(root, file)).update(readFileSync(file));
  return hash.digest('hex');
}
