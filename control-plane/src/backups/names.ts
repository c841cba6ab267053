import type { BackupDatabase } from '@footlight/protocol/rest';

/** What the name of a backup says about it. */
export interface NamedBackup {
  name: string;
  /** Whole seconds, in epoch milliseconds. */
  createdAtMs: number;
  /** `manual`, or `before-<step>` for a backup before a migration step; null: the daily backup. */
  reason: string | null;
  database: BackupDatabase;
}

const ENDINGS: Readonly<Record<BackupDatabase, string>> = { sqlite: 'sqlite', postgres: 'pgdump' };
const NAME =
  /^footlight-(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)(?:-([a-z0-9]+(?:-[a-z0-9]+)*))?\.(sqlite|pgdump)$/;
/** Bound of a name, so that the name of its record is valid on every file system (255 bytes). */
const MAX_NAME_CHARACTERS = 128;

const BEFORE = 'before-';
/** Reason of a backup before a migration step. */
export const beforeStep = (step: string): string => `${BEFORE}${step}`;
export const isBeforeStep = (reason: string): boolean => reason.startsWith(BEFORE);

/** Name of a backup: footlight-YYYYMMDD-HHMMSS[-reason].sqlite or .pgdump, in UTC. */
export function nameOfBackup({ createdAtMs, reason, database }: Omit<NamedBackup, 'name'>): string {
  const time = new Date(createdAtMs).toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '-');
  return `footlight-${time}${reason === null ? '' : `-${reason}`}.${ENDINGS[database]}`;
}

/**
 * Reads the name of a backup. Every accepted name is one path segment, so that no other file can be named.
 * @returns null: the text has another form
 */
export function parseBackupName(name: string): NamedBackup | null {
  const match = name.length > MAX_NAME_CHARACTERS ? null : NAME.exec(name);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, reason = null, ending] = match;
  const createdAtMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`);
  if (Number.isNaN(createdAtMs)) return null;
  const backup = { createdAtMs, reason, database: ending === 'sqlite' ? 'sqlite' : 'postgres' } as const;
  // Date.parse reads the 30th of February as a day of March.
  return nameOfBackup(backup) === name ? { name, ...backup } : null;
}
