/** Messages between the agent and the process that scans a home. */
import { count, text } from '@footlight/protocol';
import { scanEntrySchema } from '@footlight/protocol/agent';
import { z } from 'zod';

/** Time limit of a scan. Source: docs/apps.md, "After a scan". */
export const SCAN_LIMIT_MS = 300_000;

export const scanProgress = z.discriminatedUnion('type', [
  z.object({ type: z.literal('entries'), entries: z.array(scanEntrySchema) }),
  z.object({
    type: z.literal('done'),
    ok: z.boolean(),
    complete: z.boolean(),
    error: text(4096),
    outside: count,
  }),
]);
export type ScanProgress = z.infer<typeof scanProgress>;
