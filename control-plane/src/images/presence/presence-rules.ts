/**
 * Derives the stored state of an image on a host from the host's reports. Pure. Source: docs/containers.md, "On the
 * hosts".
 */
import type { ImageState, Register } from '@footlight/protocol/agent';
import type { HostImageRow } from '../record.ts';

/** The columns that are stored for an image on a host, without the keys. */
export type Presence = Pick<HostImageRow, 'version' | 'state' | 'progress_pct' | 'error' | 'bytes'>;

export const ABSENT: Presence = {
  version: null,
  state: 'absent',
  progress_pct: null,
  error: null,
  bytes: null,
};

/**
 * The columns to store after an `image_state`. They replace the stored ones, and fields that do not belong to the
 * reported state are cleared.
 */
export function presenceOf(report: Omit<ImageState, 'type' | 'seq' | 'image_id'>): Presence {
  const { state, version } = report;
  const isUnderWay = state === 'pulling' || state === 'building';
  return {
    version: state === 'absent' ? null : version,
    state,
    progress_pct: isUnderWay ? (report.progress_pct ?? null) : null,
    error: state === 'failed' ? (report.error ?? null) : null,
    bytes: state === 'ready' ? (report.bytes ?? null) : null,
  };
}

/**
 * The columns to store after a registering host listed its images. An image that is missing from the list is stored as
 * absent. The list contains no sizes and no reasons, so an unchanged row keeps them.
 * @param stored rows of the host, by image id
 * @param installed ids of installed images; other listed images are ignored
 * @returns the changed rows, by image id
 */
export function planRegistration(
  stored: ReadonlyMap<string, Presence>,
  listed: NonNullable<Register['images']>,
  installed: ReadonlySet<string>,
): Map<string, Presence> {
  const changes = new Map<string, Presence>();
  const names = new Set<string>();
  for (const { image_id, version, state } of listed) {
    if (!installed.has(image_id)) continue;
    names.add(image_id);
    const before = stored.get(image_id);
    if (before?.state === state && before.version === version) continue;
    changes.set(image_id, presenceOf({ state, version }));
  }
  for (const [imageId, { state }] of stored)
    if (!names.has(imageId) && state !== 'absent') changes.set(imageId, ABSENT);
  return changes;
}

/** Whether a host still has to fetch this version. An image that the host is fetching is not requested again. */
export function needsEnsure(stored: Presence | undefined, version: string): boolean {
  if (stored === undefined || stored.state === 'absent' || stored.state === 'failed') return true;
  return stored.version !== null && stored.version !== version;
}
