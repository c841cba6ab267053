import type { ArtworkCrop, ArtworkRecord } from '@footlight/protocol/rest';
import type { Selectable } from 'kysely';
import { bool, instant } from '../platform/database/index.ts';
import type { ArtworkRecordsTable } from '../platform/database/tables/artwork.ts';
import { type Asset, assetOfPath, pathOfAsset } from './asset.ts';
import { ATTRIBUTION, PROVIDER_NAME, type Title } from './fetch/steamgriddb.ts';

export type RecordRow = Selectable<ArtworkRecordsTable>;
/** The fields of a record without the app's id and the time. */
export type RecordFields = Omit<RecordRow, 'app_id' | 'updated_at'>;

/** Stored pictures by crop. A missing key: the crop has no picture. */
export type Pictures = { [Crop in ArtworkCrop]?: Asset | undefined };

const titleColumns = ({ ref, name }: Title) =>
  ({
    provider: PROVIDER_NAME,
    provider_ref: ref,
    matched_name: name,
    attribution: ATTRIBUTION,
  }) as const;
const UNMATCHED = { provider: '', provider_ref: '', matched_name: '', attribution: '' } as const;

const pathOrNull = (asset: Asset | undefined) => (asset === undefined ? null : pathOfAsset(asset));

/** Record of an automatic match. @param match null: the look-up found nothing */
export function matchedRecord(match: { title: Title; pictures: Pictures } | null): RecordFields {
  if (match === null) return { source: 'none', ...UNMATCHED, tile_url: null, hero_url: null, locked: 0 };
  const { tile, hero } = match.pictures;
  return {
    source: 'provider',
    ...titleColumns(match.title),
    tile_url: pathOrNull(tile),
    hero_url: pathOrNull(hero),
    locked: 0,
  };
}

/** Record of a title that an administrator picked: both crops come from it. */
export function pickedRecord(title: Title, { tile, hero }: Pictures): RecordFields {
  return {
    source: 'manual',
    ...titleColumns(title),
    tile_url: pathOrNull(tile),
    hero_url: pathOrNull(hero),
    locked: 1,
  };
}

/** Record with an administrator's own pictures; a crop without a new picture keeps its old one. */
export function ownRecord(former: RecordRow | null, { tile, hero }: Pictures): RecordFields {
  return {
    source: 'manual',
    ...UNMATCHED,
    tile_url: pathOrNull(tile) ?? former?.tile_url ?? null,
    hero_url: pathOrNull(hero) ?? former?.hero_url ?? null,
    locked: 1,
  };
}

/**
 * The app's cover after a record is written. If the record has no tile, an address that an administrator entered stays,
 * and a picture from a former record is removed.
 */
export function coverUnder(record: RecordFields, formerCover: string | null): string | null {
  return record.tile_url ?? (assetOfPath(formerCover) === null ? formerCover : null);
}

export function toArtworkRecord(row: RecordRow): ArtworkRecord {
  return {
    app_id: row.app_id,
    source: row.source,
    provider: row.provider,
    provider_ref: row.provider_ref,
    matched_name: row.matched_name,
    tile_url: row.tile_url,
    hero_url: row.hero_url,
    attribution: row.attribution,
    locked: bool(row.locked),
    updated_at: instant(row.updated_at),
  };
}
