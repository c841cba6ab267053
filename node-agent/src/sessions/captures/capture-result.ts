/** Packs the results of captures into the payloads of their events, within a budget. Source: docs/recordings.md. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { cutUtf8, type JsonObject } from '@footlight/protocol';
import type { CaptureResult } from '@footlight/protocol/agent';

const compress = promisify(gzip);

/** Size in bytes above which a JSON text is compressed. */
const PLAIN_JSON_BYTES = 64 * 1024;
/** Largest length of the error in the event's schema. */
const MAX_ERROR_BYTES = 512;

/** A result without the fields that describe its capture. */
export type PackedResult = Omit<CaptureResult, 'capture_id' | 'kind' | 'duration_ms'>;

/** Captured data. */
export type Captured =
  /** A text in lines. If it exceeds the budget, the last lines are dropped, or the first lines if `keeps` is newest. */
  | { text: string; contentType: 'text/vnd.graphviz' | 'text/plain'; keeps: 'first' | 'newest' }
  /** trailing: name of a list whose last items are dropped if the budget is exceeded; null: there is no such list. */
  | { json: JsonObject; trailing: string | null };

const JSON_TYPE = 'application/json';

/**
 * @param maxBytes largest size of the compressed text, or of the JSON text
 * @returns the result, or a result with an error if not even a part fits
 */
export function packCapture(captured: Captured, maxBytes: number): Promise<PackedResult> {
  return 'text' in captured ? packText(captured, maxBytes) : packJson(captured, maxBytes);
}

/** The result of a capture that failed. */
export const failedResult = (error: string): PackedResult => ({
  encoding: 'json',
  content_type: JSON_TYPE,
  bytes: 0,
  compressed_bytes: 0,
  truncated: false,
  error: cutUtf8(error, MAX_ERROR_BYTES),
});

async function packText(
  { text, contentType, keeps }: Extract<Captured, { text: string }>,
  maxBytes: number,
): Promise<PackedResult> {
  const lines = text.split(/(?<=\n)/);
  const kept = await mostThatFits(lines.length, maxBytes, async (count) => {
    const part = (keeps === 'first' ? lines.slice(0, count) : lines.slice(lines.length - count)).join('');
    return { text: part, packed: await compress(part) };
  });
  return kept === null ? overBudget(maxBytes) : compressed(kept, contentType, Buffer.byteLength(text));
}

async function packJson(
  { json, trailing }: Extract<Captured, { json: JsonObject }>,
  maxBytes: number,
): Promise<PackedResult> {
  const list = trailing === null ? [] : (json[trailing] as readonly unknown[]);
  const kept = await mostThatFits(list.length, maxBytes, async (count) => {
    const part = trailing === null ? json : { ...json, [trailing]: list.slice(0, count) };
    const text = JSON.stringify(part);
    const bytes = Buffer.from(text);
    const isPlain = bytes.length <= PLAIN_JSON_BYTES;
    return { part, text, isPlain, packed: isPlain ? bytes : await compress(bytes) };
  });
  if (kept === null) return overBudget(maxBytes);
  const wholeBytes = Buffer.byteLength(JSON.stringify(json));
  if (!kept.isPlain) return compressed(kept, JSON_TYPE, wholeBytes);
  return {
    encoding: 'json',
    content_type: JSON_TYPE,
    json: kept.part,
    bytes: kept.packed.length,
    compressed_bytes: kept.packed.length,
    ...(kept.isCut && { original_bytes: wholeBytes }),
    truncated: kept.isCut,
  };
}

/** @param original_bytes size before a part was cut off */
function compressed(
  { text, packed, isCut }: { text: string; packed: Buffer; isCut: boolean },
  content_type: string,
  original_bytes: number,
): PackedResult {
  return {
    encoding: 'gzip+base64',
    content_type,
    data: packed.toString('base64'),
    bytes: Buffer.byteLength(text),
    compressed_bytes: packed.length,
    ...(isCut && { original_bytes }),
    truncated: isCut,
  };
}

const overBudget = (maxBytes: number) => failedResult(`nothing of it fits ${maxBytes} bytes`);

/**
 * The packed form with the largest number of items that fits. The number is found by bisection, which needs about a
 * dozen compressions for a thousand lines.
 * @returns null: even the form without items does not fit
 */
async function mostThatFits<Form extends { packed: Buffer }>(
  items: number,
  maxBytes: number,
  pack: (count: number) => Promise<Form>,
): Promise<(Form & { isCut: boolean }) | null> {
  const all = await pack(items);
  if (all.packed.length <= maxBytes) return { ...all, isCut: false };
  let best: Form | null = null;
  let [low, high] = [0, items - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const form = await pack(middle);
    if (form.packed.length <= maxBytes) {
      best = form;
      low = middle + 1;
    } else high = middle - 1;
  }
  return best === null ? null : { ...best, isCut: true };
}
