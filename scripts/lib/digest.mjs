// Tells whether something built is older than what it was built from.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

/** What is made by builds and installs is no source. */
const MADE = new Set(['node_modules', 'dist']);

/** @param {string} place a file, or a folder of which every file below counts @returns {string[]} */
function filesOf(place) {
  if (statSync(place).isFile()) return [place];
  return readdirSync(place, { withFileTypes: true })
    .filter((entry) => (entry.isDirectory() ? !MADE.has(entry.name) : entry.isFile()))
    .flatMap((entry) => filesOf(path.join(place, entry.name)));
}

/**
 * @param {string} root
 * @param {string[]} places  files and folders below root
 * @returns {string} another one when a name or a byte below them changes, or the version or processor of this Node
 */
export function digestOf(root, places) {
  const hash = createHash('sha256').update(process.version).update(process.arch);
  for (const file of places.flatMap((place) => filesOf(path.join(root, place)).sort()))
    hash.update(path.relative(root, file)).update(readFileSync(file));
  return hash.digest('hex');
}
