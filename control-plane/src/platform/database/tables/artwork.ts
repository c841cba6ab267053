import type { Flag } from '../codec.ts';

export interface ArtworkTables {
  artwork_records: ArtworkRecordsTable;
}

/** Source of an app's pictures. No row: the app was not looked up yet. */
export interface ArtworkRecordsTable {
  app_id: string;
  /** none: the look-up found nothing. */
  source: 'provider' | 'manual' | 'none';
  provider: '' | 'steamgriddb';
  provider_ref: string;
  matched_name: string;
  /** Paths /v1/artwork/<asset>; null: no picture. */
  tile_url: string | null;
  hero_url: string | null;
  attribution: string;
  /** 1: chosen by an administrator; automatic matches do not replace it. */
  locked: Flag;
  updated_at: number;
}
