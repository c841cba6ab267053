/**
 * Decides which app may be the tile of another app, and which app may be deleted. Pure: the functions receive facts and
 * return a refusal or null. Source: docs/apps.md, "Tiles".
 */
import type { ErrorCode } from '@footlight/protocol/rest';

/** Facts about a change of an app's parent. */
export interface ParentFacts {
  /** null: a new app, which has no id yet. */
  appId: string | null;
  parentId: string;
  /** null: the parent does not exist. */
  parent: { parent_app_id: string | null } | null;
  /** Whether the app has tiles itself. */
  hasTiles: boolean;
}

/**
 * Checks whether an app may become a tile of the given parent. Tiles have only one level.
 * @returns the refusal with its field; null: the change is allowed
 */
export function refuseParent({ appId, parentId, parent, hasTiles }: ParentFacts): string | null {
  if (parentId === appId) return 'parent_app_id: an app is not its own parent';
  if (parent === null) return 'parent_app_id: there is no such app';
  if (parent.parent_app_id !== null) return 'parent_app_id: a tile has no tiles of its own';
  if (hasTiles) return 'parent_app_id: an app with tiles cannot become one';
  return null;
}

type Tile = { id: string; name: string };

/** A refused deletion, with the tiles that the deletion would also remove. */
export interface RemovalRefusal {
  code: ErrorCode;
  message: string;
  derived_tiles?: Tile[];
}

/**
 * Refuses a deletion; null: the app may be deleted.
 * @param facts.tiles the app's tiles; not read when the request deletes them too
 * @param facts.hasLiveSession whether the app or one of its tiles has a live session
 */
export function refuseRemoval(facts: {
  deleteDerived: boolean;
  tiles: readonly Tile[];
  hasLiveSession: boolean;
}): RemovalRefusal | null {
  if (!facts.deleteDerived && facts.tiles.length > 0) {
    return {
      code: 'conflict',
      message: 'This app has tiles that would be deleted with it; say delete_derived=true to do so.',
      derived_tiles: [...facts.tiles],
    };
  }
  if (facts.hasLiveSession) {
    return {
      code: 'conflict',
      message: 'A session of this app or of one of its tiles has not ended; stop it first.',
    };
  }
  return null;
}
