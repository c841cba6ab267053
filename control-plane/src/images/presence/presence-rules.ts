/**
 * What a host's report says about an image there. Pure.
 * Source: docs/containers.md, "On the hosts".
 */
import type { ImageState, Register } from '@footlight/protocol/agent';
import type { HostImageRow } from '../record.ts';

/** What is stored of an image on a host, without its keys. */
export type Presence = Pick<HostImageRow, 'version' | 'state' | 'progress_pct' | 'error' | 'bytes'>;

export const ABSENT: Presence = {
  version: null,
  state: 'absent',
  progress_pct: null,
  error: null,
  bytes: null,
};

/** What an `image_state` leaves stored: the newest report counts, and fields belong to their state. */
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
 * What the list of a registering host leaves stored. The list is the truth: an image that it lacks is absent. It has
 * neither sizes nor reasons, so those of an unchanged row stay.
 * @param stored rows of the host, by image
 * @param installed ids of installed images; others are dropped
 * @returns the changed rows, by image
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

/** Whether a host still has to fetch this version. An image that is under way there is not asked for again. */
export function needsEnsure(stored: Presence | undefined, version: string): boolean {
  if (stored === undefined || stored.state === 'absent' || stored.state === 'failed') return true;
  return stored.version !== null && stored.version !== version;
}
