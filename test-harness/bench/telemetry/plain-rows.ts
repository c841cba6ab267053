import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { descendants } from '../../src/stack/host-traces.ts';
import type { Dialect } from '../api/large-instance.ts';
import { CORES, cpuMs, startWorker, type Worker } from '../api/load.ts';
import { type Fleet, type FleetInstance, withFleet } from '../fleet/fleet-instance.ts';
import { samplesFile } from './samples.ts';

/**
 * Writes the samples of a bench into a file.
 * @returns its path, and a function that removes it
 */
function keepSamples(): { file: string; remove(): void } {
  const directory = mkdtempSync(path.join(tmpdir(), 'footlight-samples-'));
  const file = path.join(directory, 'samples.json');
  writeFileSync(file, JSON.stringify(samplesFile()));
  return { file, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

/** The program that handles samples like the service, but with plain SQL. */
export interface PlainRows {
  readonly pid: number;
  /** URL of a bare route that returns the rows of a window: ?session=…&from=…&to=…, times in ms. */
  readonly url: string;
  /**
   * Inserts each row separately as it arrives, for the given time.
   * @returns rows (count)
   */
  insert(seconds: number): Promise<number>;
  /**
   * Inserts the samples of every session in the hours before the given time.
   * @returns rows (count)
   */
  fill(hours: number, untilMs: number): Promise<number>;
  /** Size of stored samples with their indexes, bytes. */
  size(): Promise<{ rows: number; bytes: number }>;
  stop(): Promise<void>;
}

export async function startPlainRows({ env, fleet }: FleetInstance, samples: string): Promise<PlainRows> {
  const worker = startWorker(
    CORES.server,
    'control-plane/src/testing/large/plain-telemetry-main.ts',
    [samples],
    env,
  );
  const url = await worker.line();
  const sessions = sessionsOf(fleet);
  const ask = (job: object) => askWorker(worker, job);
  return {
    pid: worker.pid,
    url,
    insert: async (seconds) => (await ask({ kind: 'insert', sessions, seconds })).rows,
    fill: async (hours, untilMs) => (await ask({ kind: 'fill', sessions, hours, untilMs })).rows,
    size: () => ask({ kind: 'size' }),
    stop: () => worker.stop(),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: the answer to a job has the figures of its kind
export async function askWorker(worker: Worker, job: object): Promise<any> {
  worker.send(JSON.stringify(job));
  return JSON.parse(await worker.line());
}

const sessionsOf = ({ hosts }: Fleet) =>
  hosts.flatMap(({ id: hostId, sessions }) => sessions.map((id) => ({ id, hostId })));

/** CPU of a process and, on Postgres, of the database's processes since their start (ms). */
export function cpuWithDatabase(pid: number, dialect: Dialect): number {
  const servers =
    dialect === 'postgres'
      ? descendants(process.pid).filter(([, command]) => /(^|\/)postgres(:| |$)/.test(command))
      : [];
  return [pid, ...servers.map(([server]) => server)].reduce((sum, each) => sum + cpuMs(each), 0);
}

/** Runs a bench with a fleet on each database, and with samples in a file. @returns exit status: the worst of all */
export async function onEachDatabase(
  dialects: readonly Dialect[],
  fleet: { hosts: number; sessionsEach: number },
  work: (dialect: Dialect, instance: FleetInstance, samples: string) => Promise<number>,
): Promise<number> {
  const samples = keepSamples();
  let status = 0;
  try {
    for (const dialect of dialects) {
      const reporters = 'test-harness/bench/telemetry/reporters-main.ts';
      const one = (instance: FleetInstance) => work(dialect, instance, samples.file);
      status = Math.max(status, await withFleet(fleet, reporters, one, { dialect, words: [samples.file] }));
    }
    return status;
  } finally {
    samples.remove();
  }
}
