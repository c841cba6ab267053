/** Exports of the activity log: a line of JSON for each entry, and a last line with the newest seal. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { Head, ReadEntry } from './chain.ts';

const count = z.int();
const head = z.strictObject({ number: count, hash: z.string() });
const line = z.union([
  z.strictObject({
    id: count,
    actor_user_id: z.string().nullable(),
    action: z.string(),
    target_type: z.string(),
    target_id: z.string().nullable(),
    // The stored text, because the seal covers its exact spelling.
    details: z.string(),
    created_at: count,
    seal: head.extend({ sealed_at: count, key_version: count }).nullable(),
  }),
  z.strictObject({ head: head.nullable() }),
]);

/** The lines of an export. @throws an Error with a sentence when a line is no line of an export, or the last one lacks */
export async function* readExport(file: string): AsyncGenerator<ReadEntry | { head: Head | null }> {
  let number = 0;
  let isComplete = false;
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    number += 1;
    const parsed = line.safeParse(parseJson(text));
    if (!parsed.success || isComplete) throw new Error(`Line ${number} of ${file} is no line of an export.`);
    isComplete = 'head' in parsed.data;
    yield parsed.data;
  }
  if (!isComplete) throw new Error(`${file} is not complete: its last line, with the head, is missing.`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
