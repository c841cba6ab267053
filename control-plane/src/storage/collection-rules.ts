/** Decides when the files of a home may be deleted. Pure. Source: docs/homes.md, "Deletion". */
import { DAY_MS } from '@footlight/platform';

/**
 * Time between the marking of a home and the deletion of its files. A launch in this time still keeps the files.
 * Source: docs/homes.md, "Deletion".
 */
export const HOME_GRACE_MS = DAY_MS;

/**
 * Whether a marked home is past its grace.
 * @param gcAfter time of the mark, epoch milliseconds; null: not marked
 */
export function isPastGrace(gcAfter: number | null, nowMs: number): boolean {
  return gcAfter !== null && gcAfter <= nowMs - HOME_GRACE_MS;
}

/** Answer to a host that has moved homes aside for deletion. */
export interface CollectionDecision {
  /** Homes whose records are deleted now. */
  toDelete: string[];
  /** Homes whose files the host must delete: those of `toDelete`, and every id without a record on this host. */
  deletedIds: string[];
  keptIds: string[];
}

/**
 * Decides about homes that a host has moved aside. An id without a record on the host counts as deleted, so that a
 * repeated request gets the same answer. Pure.
 * @param requested ids that the host sent; a repeated id counts once
 * @param found records of these ids on that host
 */
export function decideCollection(
  requested: readonly string[],
  found: readonly { id: string; gc_after: number | null }[],
  nowMs: number,
): CollectionDecision {
  const kept = new Set(found.filter((home) => !isPastGrace(home.gc_after, nowMs)).map(({ id }) => id));
  const ids = [...new Set(requested)];
  return {
    toDelete: found.map(({ id }) => id).filter((id) => !kept.has(id)),
    deletedIds: ids.filter((id) => !kept.has(id)),
    keptIds: ids.filter((id) => kept.has(id)),
  };
}
