import type { Capture } from '@footlight/protocol/rest';
import { msg, t } from '../../../i18n/translate.ts';

/** Kinds of captures in the order in which they are offered, with the text of their button and a description. */
export const CAPTURE_KINDS = [
  {
    kind: 'burst_stats',
    label: msg('Frame by frame'),
    action: msg('Capture frame by frame'),
    tells: msg('Shows whether single frames are late although samples of 5 s look good. Takes 5 s.'),
    extension: 'json',
  },
  {
    kind: 'encoder_props',
    label: msg('Encoder'),
    action: msg('Capture encoder'),
    tells: msg('The actual settings of the encoder.'),
    extension: 'json',
  },
  {
    kind: 'pipeline_dot',
    label: msg('Pipeline'),
    action: msg('Capture pipeline'),
    tells: msg('The elements that process the picture, with state and format.'),
    extension: 'dot',
  },
  {
    kind: 'log_tail',
    label: msg('Log'),
    action: msg('Capture log'),
    tells: msg('The last output of the app and the agent.'),
    extension: 'txt',
  },
] as const;
export type CaptureKind = (typeof CAPTURE_KINDS)[number]['kind'];

/** A newer service may have kinds without a label in this page; such a kind is shown unchanged. */
export const kindLabel = (kind: string): string =>
  t(CAPTURE_KINDS.find((each) => each.kind === kind)?.label ?? kind);

/** Name for a capture's file. */
export function captureFileName({ kind, capture_id }: Pick<Capture, 'kind' | 'capture_id'>): string {
  const extension = CAPTURE_KINDS.find((each) => each.kind === kind)?.extension ?? 'txt';
  return `${kind}-${capture_id}.${extension}`;
}

/**
 * Longest unpacked result in bytes. Gzip can compress a text to a thousandth of its size, so without this limit a host
 * could fill the memory of this page.
 */
const MAX_UNPACKED_BYTES = 4 * 1024 * 1024;

/**
 * The result as text; JSON is indented.
 * @returns null: there is no result
 * @throws TypeError for data that is no gzip stream, RangeError for a result longer than the limit
 */
export async function captureText({ data, json }: Pick<Capture, 'data' | 'json'>): Promise<string | null> {
  if (json !== undefined) return JSON.stringify(json, null, 2);
  if (data === undefined) return null;
  const packed = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for (const reader = unpacked.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.byteLength;
    if (bytes > MAX_UNPACKED_BYTES) {
      void reader.cancel();
      throw new RangeError('The result is too long.');
    }
    parts.push(value);
  }
  return indented(await new Blob(parts).text());
}

/** The result of a long burst is compressed JSON. */
function indented(text: string): string {
  if (!text.startsWith('{')) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** One window of a burst; undefined: not measured. */
export interface BurstRow {
  atMs: number;
  fps: number | undefined;
  encodeP50: number | undefined;
  encodeP95: number | undefined;
  encodeMax: number | undefined;
  bitrateKbps: number | undefined;
  dropped: number | undefined;
}

/** Number of windows of a capture. */
const MAX_WINDOWS = 40;

const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;
const partOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

/**
 * Rows of a table with the windows of a burst, at most as many as a capture may have.
 * @param text the result of the capture
 * @returns []: the text is no result of a burst
 */
export function burstRows(text: string): BurstRow[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return [];
  }
  const { windows } = partOf(parsed);
  if (!Array.isArray(windows)) return [];
  return windows.slice(0, MAX_WINDOWS).map((each: unknown) => {
    const window = partOf(each);
    const encode = partOf(window.encode_ms);
    return {
      atMs: numberOf(window.t_ms) ?? 0,
      fps: numberOf(window.fps),
      encodeP50: numberOf(encode.p50),
      encodeP95: numberOf(encode.p95),
      encodeMax: numberOf(encode.max),
      bitrateKbps: numberOf(window.bitrate_kbps),
      dropped: numberOf(window.frames_dropped),
    };
  });
}
