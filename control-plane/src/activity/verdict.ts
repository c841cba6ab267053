import { instant } from '../platform/database/index.ts';
import { type ChainCheck, type Entry, LATE_MS, type Misfit, type Verdict } from './chain.ts';

/** What `audit verify` prints, and its exit code: 0 intact, 1 tampered, 2 could not check. Pure. */
export function reportOf(
  verdict: Verdict,
  counts: ChainCheck['counts'],
): { code: 0 | 1 | 2; lines: string[] } {
  const { head, first, last, unsealed, firstUnsealed, late, lastLate } = counts;
  const lines = [
    first === null || last === null
      ? 'No entry was checked.'
      : `Checked ${head?.number} sealed entries, from ${nameOf(first)} to ${nameOf(last)}.`,
  ];
  switch (verdict.kind) {
    case 'no_key':
      lines.push(
        `could not check: ${nameOf(verdict.entry)} was sealed with a key of version ${verdict.version}, which is not set. Set it in SERVICE_SECRET_KEY_PREVIOUS. If there never was such a key, the seal was changed.`,
      );
      return { code: 2, lines };
    case 'tampered':
      lines.push(`tampered: ${meaningOf(verdict.misfit)}`);
      return { code: 1, lines };
    case 'intact':
      break;
  }
  if (unsealed > 0 && firstUnsealed !== null)
    lines.push(
      `Not sealed yet: ${unsealed}, from ${nameOf(firstUnsealed)}. A running control plane seals an entry within a minute.`,
    );
  if (head === null) {
    lines.push('could not check: no entry is sealed. A control plane with SERVICE_SECRET_KEY seals them.');
    return { code: 2, lines };
  }
  if (lastLate !== null && lastLate.seal !== null)
    lines.push(
      `Sealed more than ${LATE_MS / 3_600_000} h after they were written: ${late}, the last is ${nameOf(lastLate)}, sealed ${instant(lastLate.seal.sealed_at)}. A change between the two times does not show.`,
    );
  lines.push('intact', `Head: ${head.hash}`);
  return { code: 0, lines };
}

const nameOf = ({ id, action, created_at }: Entry): string =>
  `entry ${id} (${action}, ${timeOf(created_at)})`;

/** A changed entry can have any number as its time. */
const timeOf = (ms: number): string => (Number.isNaN(new Date(ms).getTime()) ? `time ${ms}` : instant(ms));

function meaningOf(misfit: Misfit): string {
  switch (misfit.kind) {
    case 'changed':
      return `${nameOf(misfit.entry)} does not match its seal. The entry or its seal was changed, or it was sealed with another SERVICE_SECRET_KEY.`;
    case 'missing':
      return `${misfit.count} sealed entries before ${nameOf(misfit.entry)} are missing.`;
    case 'moved':
      return `the seal of ${nameOf(misfit.entry)} belongs to another place. Entries or seals were exchanged.`;
    case 'inserted':
      return `${nameOf(misfit.entry)} has no seal, but a later entry has one. The entry was inserted, or its seal was deleted.`;
    case 'ended':
      return `the newest ${misfit.count} sealed entries are missing.`;
    case 'headless':
      return 'no entry has the seal that you gave with --head. The entries up to it were removed or replaced, or the database is an older one, for example from a backup.';
  }
}
