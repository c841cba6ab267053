import type { Flag } from '../codec.ts';

export interface ArtworkTables {
  artwork_records: ArtworkRecordsTable;
}

/** Where an app's pictures come from. No row: nobody has looked yet. */
export interface ArtworkRecordsTable {
  app_id: string;
  /** none: looked for and not found. */
  source: 'provider' | 'manual' | 'none';
  provider: '' | 'steamgriddb';
  provider_ref: string;
  matched_name: string;
  /** Paths /v1/artwork/<asset>; null: there is no such picture. */
  tile_url: string | null;
  hero_url: string | null;
  attribution: string;
  /** 1: chosen by an administrator; no automatic match replaces it. */
  locked: Flag;
  updated_at: number;
}
