/**
 * Part of the published contract, not served yet: bodies of the agent's HTTP calls about library scans and the
 * collection of homes. Unknown keys are ignored, because either end may be newer.
 */
import { z } from 'zod';
import { count, humanText, text, wireUuid } from '../common.ts';

/** Size of a body. Chosen, not measured: nothing sends them yet. */
export const MAX_SCAN_REPORT_BYTES = 4 * 1024 * 1024;
/** An agent reports the progress of a pull at least this often. */
export const PULL_PROGRESS_INTERVAL_MS = 10_000;

/** Ids of a library's entries. */
export const EXTERNAL_ID_PATTERN = /^[1-9][0-9]{0,9}$/;

export const scanTaskSchema = z.object({
  scan_id: wireUuid,
  /** the home's directory on the host */
  root_path: text(512),
  /** where the app sees it */
  container_path: text(512),
  relative_roots: z.array(text(512)).max(32),
  max_entries: count,
  /** per manifest, and of libraryfolders.vdf */
  max_manifest_bytes: count,
});
export type ScanTask = z.infer<typeof scanTaskSchema>;

export const scanPendingSchema = z.object({ scans: z.array(scanTaskSchema).max(50) });
export type ScanPending = z.infer<typeof scanPendingSchema>;

export const scanEntrySchema = z.object({
  external_id: z.string().regex(EXTERNAL_ID_PATTERN),
  /** "" for an unreadable manifest: it never overwrites a stored name */
  name: humanText(512),
  install_dir: text(1024),
  size_on_disk: count,
  state_flags: count,
});
export type ScanEntry = z.infer<typeof scanEntrySchema>;

export const scanReportSchema = z.object({
  scan_id: wireUuid,
  ok: z.boolean(),
  /** absent = true; false when a folder was unreadable or a limit was reached */
  complete: z.boolean().optional(),
  error: humanText(4096).nullable().optional(),
  entries: z.array(scanEntrySchema).max(10_000),
});
export type ScanReport = z.infer<typeof scanReportSchema>;

/** Health of an agent, on loopback. */
export const agentHealthSchema = z.object({
  status: z.literal('ok'),
  sessions: count,
  connected: z.boolean(),
});
export type AgentHealth = z.infer<typeof agentHealthSchema>;
