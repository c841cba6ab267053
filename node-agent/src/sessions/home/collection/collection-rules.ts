/** Decisions of the collection of homes. Pure. */
import type { DueHome, GcConfirmed } from '@footlight/protocol/agent';

export type CollectionAnswer = 'deleted' | 'kept';

/**
 * The decision about a home in the control plane's answer. If the answer contradicts itself, the home is kept, because
 * removed files cannot be restored.
 * @returns null: the answer does not contain the home
 */
export function answerFor(
  id: string,
  { deleted_ids, kept_ids }: Pick<GcConfirmed, 'deleted_ids' | 'kept_ids'>,
): CollectionAnswer | null {
  if (kept_ids.includes(id)) return 'kept';
  return deleted_ids.includes(id) ? 'deleted' : null;
}

/** Whether the name of a volume belongs to its home. */
export const isVolumeOf = ({ id, ref }: Pick<DueHome, 'id' | 'ref'>): boolean => ref === `service-home-${id}`;
