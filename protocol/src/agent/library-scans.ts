/**
 * The agent's HTTP calls about library scans: the control plane returns tasks, and the agent reports the titles that it
 * found. Unknown keys are ignored, because the other side may be newer.
 */
import { z } from 'zod';
import { count, homeBasePath, humanText, text, wireUuid } from '../common.ts';

/** Largest scan report in bytes. */
export const MAX_SCAN_REPORT_BYTES = 4 * 1024 * 1024;
/** Largest number of entries in a report, and largest value of a task's max_entries. */
export const MAX_SCAN_ENTRIES = 10_000;
/** Largest number of tasks in the answer to one poll. */
export const MAX_SCANS_PER_POLL = 50;
/** Longest texts of an entry, in bytes. */
export const MAX_TITLE_BYTES = 512;
export const MAX_INSTALL_DIR_BYTES = 1024;

/** Form of the ids of a library's titles. */
export const EXTERNAL_ID_PATTERN = /^[1-9][0-9]{0,9}$/;
/** Bit of state_flags: the title is fully installed. Source: Steam's EAppState. */
export const FULLY_INSTALLED = 4;

export const scanTaskSchema = z.object({
  scan_id: wireUuid.describe('Id of the scan.'),
  root_path: text(512).describe("The home's directory on the host."),
  base_path: homeBasePath
    .optional()
    .describe(
      'Directory on the host below the home; its titles are reported too. Left out: the home has none.',
    ),
  container_path: text(512).describe('Where the app sees the home.'),
  relative_roots: z
    .array(text(512))
    .max(32)
    .describe('Folders of manifests below the home, read in this order.'),
  max_entries: count.describe('The scan stops after this number of titles.'),
  max_manifest_bytes: count.describe('Longest manifest, and longest list of library folders. Bytes.'),
});
export type ScanTask = z.infer<typeof scanTaskSchema>;

export const scanPendingSchema = z.object({
  scans: z.array(scanTaskSchema).max(MAX_SCANS_PER_POLL).describe('Claimed by this call, oldest first.'),
});

export const scanEntrySchema = z.object({
  external_id: text(64).describe('Id of the title, decimal. An invalid id is counted as rejected.'),
  name: humanText(MAX_TITLE_BYTES).describe(
    '"" for an unreadable manifest: it never overwrites a stored name.',
  ),
  install_dir: text(MAX_INSTALL_DIR_BYTES).describe('Folder of the title below `common`; "" is unknown.'),
  size_on_disk: count.describe('Bytes; 0 is unknown.'),
  state_flags: count.describe('Bits as in the manifest; 4 says that the title is fully installed.'),
});
export type ScanEntry = z.infer<typeof scanEntrySchema>;

export const scanReportSchema = z.object({
  scan_id: wireUuid.describe('The scan that was claimed.'),
  ok: z.boolean().describe('false: nothing could be read; nothing changes but the scan.'),
  complete: z
    .boolean()
    .optional()
    .describe('Left out: true. false when a folder was unreadable or a limit was reached.'),
  error: humanText(4096).nullable().optional().describe('What could not be read; null is nothing.'),
  entries: z
    .array(scanEntrySchema)
    .max(MAX_SCAN_ENTRIES)
    .default([])
    .describe('The titles that were found. Left out: none.'),
});
/** A report in the form in which it is sent. */
export type ScanReport = z.infer<typeof scanReportSchema>;
