/** Cursors of the pages of raw samples; opaque to clients. Pure. */
import type { Sample } from './series.ts';

/** The last sample of a page. */
export type SampleKey = Pick<Sample, 'ts_unix_ms' | 'source'>;

const CURSOR = /^(-?\d{1,16}) (agent|browser|native)$/;

export const writeSampleCursor = ({ ts_unix_ms, source }: SampleKey): string =>
  Buffer.from(`${ts_unix_ms} ${source}`, 'latin1').toString('base64url');

/** @returns null: the cursor is not one that this server returned */
export function parseSampleCursor(cursor: string): SampleKey | null {
  const match = CURSOR.exec(Buffer.from(cursor, 'base64url').toString('latin1'));
  return match === null ? null : { ts_unix_ms: Number(match[1]), source: match[2] as SampleKey['source'] };
}
