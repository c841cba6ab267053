// Tells whether a built file is older than its sources.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

/** Files made by builds and installs are not sources. */
const MADE = new Set(['node_modules', 'dist']);

/** @param {string} place a file, or a folder all files below it count @returns {string[]} */
function filesOf(place) {
  if (statSync(place).isFile()) return [place];
  return readdirSync(place, { withFileTypes: true })
    .filter((entry) => (entry.isDirectory() ? !MADE.has(entry.name) : entry.isFile()))
    .flatMap((entry) => filesOf(path.join(place, entry.name)));
}

/**
 * @param {string} root
 * @param {string[]} places  files and folders below root
 * @returns {string} a digest that changes with any name or byte below them, and with the version or processor of this
 * Node
 */
export function digestOf(root, places) {
  const hash = createHash('sha256').update(process.version).update(process.arch);
  for (const file of places.flatMap((place) => filesOf(path.join(root, place)).sort()))
    hash.update(path.relative(root, file)).update(readFileSync(file));
  return hash.digest('hex');
}
