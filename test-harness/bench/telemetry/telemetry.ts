/**
 * telemetry: 200 sessions of 40 hosts report at full rate to one control plane, compared with a program that inserts
 * the same rows one by one at the same rate. An agent sends a sample every five seconds; a page posts five samples
 * every five seconds and its clock every minute, as in the product. The figure is the added CPU time: the CPU time of a
 * window with reports, minus that of an equally long window right before, in which the same agents send only
 * heartbeats. On Postgres the processes of the database count as well. In both windows another person lists apps ten
 * times a second.
 */
import type { Dialect } from '../api/large-instance.ts';
import type { FleetInstance } from '../fleet/fleet-instance.ts';
import { exitStatus, judge, median, printLine, printVerdict, type Round, round2 } from '../rounds.ts';
import { askWorker, cpuWithDatabase, onEachDatabase, type PlainRows, startPlainRows } from './plain-rows.ts';
import type { ReportersFigures, ReportersJob } from './reporters-main.ts';

const FLEET = { hosts: 40, sessionsEach: 5 };
/** Three posts of each session. */
const WINDOW_SECONDS = 15;
const CPU_MARK = 2;
const OTHERS_MARK = 2;
/** Longer than the interval of one second at which the service writes reports. */
const WRITTEN_MS = 2_000;

/** @returns exit status: the worst of all figures */
export function benchTelemetry(rounds: number, dialects: readonly Dialect[]): Promise<number> {
  return onEachDatabase(dialects, FLEET, (dialect, instance, samples) =>
    benchDialect(rounds, dialect, instance, samples),
  );
}

async function benchDialect(
  rounds: number,
  dialect: Dialect,
  instance: FleetInstance,
  samples: string,
): Promise<number> {
  const control = await instance.startControl();
  const plain = await startPlainRows(instance, samples);
  try {
    await run(instance, { kind: 'connect', url: control.url });
    const cpu: Round[] = [];
    const others: Round[] = [];
    for (let round = 0; round <= rounds; round++) {
      const sides = {
        subject: () => measureSubject(dialect, instance, control.pid, plain),
        reference: () => measurePlain(dialect, plain),
      };
      const order =
        round % 2 === 0 ? (['subject', 'reference'] as const) : (['reference', 'subject'] as const);
      const found: Partial<{ subject: Subject; reference: number }> = {};
      for (const side of order) Object.assign(found, { [side]: await sides[side]() });
      const { subject, reference } = found as { subject: Subject; reference: number };
      printLine({
        bench: `telemetry ${dialect}`,
        round,
        discarded: round === 0,
        reference: round2(reference),
        subject: round2(subject.cpuUs),
        bytes: Math.round(subject.bytes),
        others: round2(subject.others),
        othersAtRest: round2(subject.othersAtRest),
      });
      if (round === 0) continue;
      cpu.push({ reference, subject: subject.cpuUs });
      others.push({ reference: subject.othersAtRest, subject: subject.others });
    }
    await run(instance, { kind: 'drop' });
    const judgements = [
      {
        ...judge(`telemetry ${dialect} cpu`, cpu, (ratio) => ratio <= CPU_MARK, 'µs a sample'),
        mark: CPU_MARK,
      },
      {
        ...judge(`telemetry ${dialect} others`, others, (ratio) => ratio <= OTHERS_MARK, 'ms'),
        mark: OTHERS_MARK,
      },
    ];
    for (const judgement of judgements) printVerdict(judgement);
    const { rows, bytes } = await plain.size();
    printLine({ bench: `telemetry ${dialect} size`, rows, bytesASample: Math.round(bytes / rows) });
    return Math.max(...judgements.map(({ verdict }) => exitStatus(verdict)));
  } finally {
    await plain.stop();
    await control.stop();
  }
}

interface Subject {
  /** Added CPU per sample, µs. */
  cpuUs: number;
  /** Stored bytes per sample, with indexes. */
  bytes: number;
  /** Medians of the other person's requests, ms. */
  others: number;
  othersAtRest: number;
}

async function measureSubject(
  dialect: Dialect,
  instance: FleetInstance,
  pid: number,
  plain: PlainRows,
): Promise<Subject> {
  const before = await plain.size();
  const startMs = cpuWithDatabase(pid, dialect);
  const rest = await run(instance, { kind: 'report', seconds: WINDOW_SECONDS, telemetry: false });
  const restMs = cpuWithDatabase(pid, dialect);
  const busy = await run(instance, { kind: 'report', seconds: WINDOW_SECONDS, telemetry: true });
  await new Promise((resolve) => setTimeout(resolve, WRITTEN_MS));
  const busyMs = cpuWithDatabase(pid, dialect);
  const after = await plain.size();
  const rows = after.rows - before.rows;
  if (rows !== busy.samples) throw new Error(`${busy.samples} samples were sent and ${rows} are stored`);
  return {
    cpuUs: (1_000 * (busyMs - restMs - (restMs - startMs))) / rows,
    bytes: (after.bytes - before.bytes) / rows,
    others: median(busy.others),
    othersAtRest: median(rest.others),
  };
}

/** @returns added CPU of a plain insert, µs */
async function measurePlain(dialect: Dialect, plain: PlainRows): Promise<number> {
  const startMs = cpuWithDatabase(plain.pid, dialect);
  await new Promise((resolve) => setTimeout(resolve, WINDOW_SECONDS * 1_000));
  const restMs = cpuWithDatabase(plain.pid, dialect);
  const rows = await plain.insert(WINDOW_SECONDS);
  const busyMs = cpuWithDatabase(plain.pid, dialect);
  return (1_000 * (busyMs - restMs - (restMs - startMs))) / rows;
}

async function run({ load }: FleetInstance, job: ReportersJob): Promise<ReportersFigures> {
  const figures = (await askWorker(load, job)) as ReportersFigures;
  if (figures.wrong > 0) throw new Error(`${figures.wrong} requests were refused, or links lost`);
  return figures;
}
