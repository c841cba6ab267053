// The file with which an interrupted sweep can be continued.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/**
 * @typedef {object} SweepRecord
 * @property {1} version
 * @property {string} url
 * @property {string} host_id
 * @property {number} gpu_index
 * @property {string} encoder
 * @property {string[]} profiles
 * @property {number[]} bitrates_kbps
 * @property {string} run_id
 * @property {import('./sweep.mjs').SweepCell[]} cells
 * @property {number[]} took_ms    of the measured cells
 * @property {{session_id: string, began_ms: number} | null} under_way   began_ms: when its dwell began, since 1970
 */

/** @param {string} file @returns {SweepRecord | null} null: there is none @throws Error with a sentence */
export function readRecord(file) {
  if (!existsSync(file)) return null;
  try {
    const record = JSON.parse(readFileSync(file, 'utf8'));
    if (record.version === 1 && Array.isArray(record.cells)) return record;
  } catch {
    // The error is thrown below.
  }
  throw new Error(`${file} is no record of scripts/certify; remove it, or name another by --record.`);
}

/**
 * Writes the record atomically, so that after a crash the previous record is complete.
 * @param {string} file
 * @param {SweepRecord} record
 */
export function writeRecord(file, record) {
  writeFileSync(`${file}.new`, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** @param {string} file */
export const removeRecord = (file) => rmSync(file, { force: true });

/**
 * Whether a record was made for the same request.
 * @param {SweepRecord} record @param {Pick<SweepRecord, 'url' | 'host_id' | 'gpu_index' | 'profiles' | 'bitrates_kbps'>
 * & {encoder: string | null}} asked
 */
export function fits(record, asked) {
  return (
    record.url === asked.url &&
    record.host_id === asked.host_id &&
    record.gpu_index === asked.gpu_index &&
    (asked.encoder === null || record.encoder === asked.encoder) &&
    record.profiles.join() === asked.profiles.join() &&
    record.bitrates_kbps.join() === asked.bitrates_kbps.join()
  );
}
