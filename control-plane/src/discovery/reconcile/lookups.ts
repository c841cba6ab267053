/** Selects the titles of a report for which the store is asked. Pure. Source: docs/apps.md, "After a scan". */
import { EXTERNAL_ID_PATTERN, FULLY_INSTALLED, type ScanEntry } from '@footlight/protocol/agent';
import { decideSuppression } from './ladder.ts';

/** Facts for the selection; maps are keyed by external id. */
export interface LookupFacts {
  entries: readonly Pick<ScanEntry, 'external_id' | 'name' | 'state_flags'>[];
  rules: ReadonlyMap<string, 'ignore' | 'allow'>;
  tiles: ReadonlyMap<string, { origin: 'manual' | 'discovered'; description: string }>;
  /** Observations that the last report of the home stored. */
  observed: ReadonlyMap<string, { suppressedBy: string }>;
}

/**
 * Titles for which the store's answer can change something; titles that would become tiles come first. Titles with a
 * rule from an administrator, tools, and tiles with a description are left out.
 */
export function planLookups({ entries, rules, tiles, observed }: LookupFacts): string[] {
  const wanted: [string[], string[], string[]] = [[], [], []];
  const seen = new Set<string>();
  for (const { external_id: id, name, state_flags } of entries) {
    if (seen.has(id) || !EXTERNAL_ID_PATTERN.test(id) || rules.has(id)) continue;
    seen.add(id);
    if (decideSuppression({ externalId: id, name, rule: null, storeType: null }) !== null) continue;
    const tile = tiles.get(id);
    if (tile === undefined && Math.floor(state_flags / FULLY_INSTALLED) % 2 === 0) continue;
    // The store's last answer for this title is stored, so the title comes last.
    if (observed.get(id)?.suppressedBy === 'appdetails') wanted[2].push(id);
    else if (tile === undefined) wanted[0].push(id);
    else if (tile.origin === 'discovered' && tile.description.trim() === '') wanted[1].push(id);
  }
  return wanted.flat();
}
