import { LRUCache } from 'lru-cache';

const MAX_BODIES = 2_000;
const MAX_CHARACTERS = 32 * 1024 * 1024;

/** Finished answers of the app list, each good for one version of the catalog. */
export interface ListCache {
  /** null: none, or of another version. */
  find(key: string, version: number): string | null;
  keep(key: string, version: number, body: string): void;
}

export function createListCache(): ListCache {
  const bodies = new LRUCache<string, { version: number; body: string }>({
    max: MAX_BODIES,
    maxSize: MAX_CHARACTERS,
    sizeCalculation: ({ body }) => body.length + 1,
  });
  return {
    find(key, version) {
      const kept = bodies.get(key);
      return kept?.version === version ? kept.body : null;
    },
    keep(key, version, body) {
      bodies.set(key, { version, body });
    },
  };
}
