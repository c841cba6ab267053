import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText, type Logger } from '@footlight/platform';
import { type JobReport, jobReportSchema } from '@footlight/protocol/agent';
import { z } from 'zod';
import { writeDurably } from '../link/identity.ts';

/**
 * Largest number of stored reports. A host has one run of each job at a time, so only a long outage can exceed this
 * number. Chosen, not measured.
 */
const MAX_REPORTS = 32;

const fileSchema = z.object({ reports: z.array(jobReportSchema).max(MAX_REPORTS) });

/**
 * Reports of ended runs that the control plane has not confirmed, by run id, oldest first. They are stored in memory
 * and in job-reports.json of the state directory, so that an outage or a restart does not lose any. Owner of that file.
 */
export class ReportFile {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #reports = new Map<string, JobReport>();
  #saving: Promise<void> = Promise.resolve();

  constructor(stateDir: string, logger: Logger) {
    this.#path = join(stateDir, 'job-reports.json');
    this.#logger = logger;
  }

  /**
   * Reads the reports that a former process left. An unusable file counts as missing; the control plane's reaper then
   * ends those runs.
   */
  async open(): Promise<void> {
    try {
      const { reports } = fileSchema.parse(JSON.parse(await readFile(this.#path, 'utf8')));
      for (const report of reports) this.#reports.set(report.run_id, report);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      this.#logger.warn({ error: errorText(error) }, 'jobs.reports_unreadable');
    }
  }

  has(runId: string): boolean {
    return this.#reports.has(runId);
  }

  /** The oldest report; undefined: all reports are confirmed. */
  first(): JobReport | undefined {
    return this.#reports.values().next().value;
  }

  /** Stores a report in memory at once. Resolves when the file was written, or could not be written. */
  add(report: JobReport): Promise<void> {
    this.#reports.set(report.run_id, report);
    for (const oldest of this.#reports.keys()) {
      if (this.#reports.size <= MAX_REPORTS) break;
      this.#reports.delete(oldest);
      this.#logger.warn({ run_id: oldest }, 'jobs.report_dropped');
    }
    return this.#save();
  }

  /** Removes a confirmed report. */
  remove(runId: string): Promise<void> {
    return this.#reports.delete(runId) ? this.#save() : this.#saving;
  }

  #save(): Promise<void> {
    this.#saving = this.#saving.then(async () => {
      try {
        await writeDurably(this.#path, `${JSON.stringify({ reports: [...this.#reports.values()] })}\n`);
      } catch (error) {
        this.#logger.error({ error: errorText(error) }, 'jobs.reports_not_kept');
      }
    });
    return this.#saving;
  }
}
