/** Decisions of the collection of homes. Pure. */
import type { DueHome, GcConfirmed } from '@footlight/protocol/agent';

export type CollectionAnswer = 'deleted' | 'kept';

/**
 * An answer's decision about a home. A contradictory answer keeps the home, because removed files cannot be restored.
 * @returns null: the answer does not name it
 */
export function answerFor(
  id: string,
  { deleted_ids, kept_ids }: Pick<GcConfirmed, 'deleted_ids' | 'kept_ids'>,
): CollectionAnswer | null {
  if (kept_ids.includes(id)) return 'kept';
  return deleted_ids.includes(id) ? 'deleted' : null;
}

/** Whether a volume's name is that of its home. */
export const isVolumeOf = ({ id, ref }: Pick<DueHome, 'id' | 'ref'>): boolean => ref === `service-home-${id}`;
