import { LRUCache } from 'lru-cache';
import type { KeptBody } from '../platform/http/kept-body.ts';

const MAX_BODIES = 2_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** Finished answers of the app list, each good for one version of the catalog. */
export interface ListCache {
  /** null: none, or of another version. */
  find(key: string, version: number): KeptBody | null;
  keep(key: string, version: number, body: KeptBody): void;
}

export function createListCache(): ListCache {
  const bodies = new LRUCache<string, { version: number; body: KeptBody }>({
    max: MAX_BODIES,
    maxSize: MAX_BYTES,
    sizeCalculation: ({ body }) => body.maxBytes,
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
