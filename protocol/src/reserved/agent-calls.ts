/**
 * Part of the published contract, not served yet: bodies of the agent's HTTP calls about jobs, library scans and the
 * collection of homes. Unknown keys are ignored, because either end may be newer.
 */
import { z } from 'zod';
import { count, humanText, type JsonObject, jsonObject, text, utf8Length, wireUuid } from '../common.ts';

/** How often jobs/pending and scan-pending are polled, ± 10 %. */
export const POLL_INTERVAL_MS = 60_000;
/** Sizes of the bodies. Chosen, not measured: nothing sends them yet. */
export const MAX_SUMMARY_BYTES = 4096;
export const MAX_HTTP_BODY_BYTES = 64 * 1024;
export const MAX_SCAN_REPORT_BYTES = 4 * 1024 * 1024;
/** An agent reports the progress of a pull at least this often. */
export const PULL_PROGRESS_INTERVAL_MS = 10_000;

export const jobRunSchema = z.object({
  run_id: wireUuid,
  job_id: text(128),
  params: jsonObject,
  /** remaining time of the claim */
  deadline_secs: count,
});
export type JobRun = z.infer<typeof jobRunSchema>;

export const jobsPendingSchema = z.object({ runs: z.array(jobRunSchema).max(5) });
export type JobsPending = z.infer<typeof jobsPendingSchema>;

/** Whether a run's summary is within its bound. Checked after the run's ownership, therefore not by the schema. */
export function isSummaryWithinBound(summary: JsonObject): boolean {
  return utf8Length(JSON.stringify(summary)) <= MAX_SUMMARY_BYTES;
}

export const jobReportSchema = z.object({
  run_id: wireUuid,
  state: z.enum(['succeeded', 'failed', 'deferred', 'skipped']),
  /** absent is {} */
  summary: jsonObject.optional(),
  error: humanText(65536).nullable().optional(),
});
export type JobReport = z.infer<typeof jobReportSchema>;

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
