import type { Logger } from '@footlight/platform';
import type { Tx } from '../../platform/database/index.ts';
import type {
  SessionClocksTable,
  SessionRejectedTimesTable,
  SessionSamplesTable,
  SessionTraceEventsTable,
} from '../../platform/database/tables/telemetry.ts';
import type { CollectedValues, Collector, PeriodicWriter } from '../../platform/queues/periodic-writer.ts';
import type { Retained } from '../retention/retention.ts';
import { addRejectedTimes, hostsOfSessions, insertEvents, insertSamples, putClocks } from './ingest-store.ts';

/**
 * Maximum waiting reports and their bytes. Chosen, not measured: enough for 500 sessions with one report per second,
 * for 30 s.
 */
const MAX_WAITING = 16_384;
const MAX_WAITING_BYTES = 32 * 1024 * 1024;
/**
 * The viewers of one person get an eighth of this room, because they may post for all ended sessions of the person at
 * once. An eighth is enough for the reports of a thousand viewers.
 */
const PERSON_PARTS = 8;

interface Waiting {
  samples: SessionSamplesTable[];
  events: { row: SessionTraceEventsTable; isFromHost: boolean }[];
  /** By session. */
  clocks: Map<string, SessionClocksTable>;
  /** By session and cause. */
  rejected: Map<string, SessionRejectedTimesTable>;
  /** Number and bytes of the waiting reports of viewers, by the person whose sessions they watch. */
  people: Map<string, { count: number; bytes: number }>;
  count: number;
  bytes: number;
}

const nothing = (): Waiting => ({
  samples: [],
  events: [],
  clocks: new Map(),
  rejected: new Map(),
  people: new Map(),
  count: 0,
  bytes: 0,
});

export interface BufferDeps {
  logger: Logger;
  database: { readonly full: boolean };
  retention: Retained;
  periodicWriter: Pick<PeriodicWriter, 'register'>;
}

/**
 * Collects reports until they are written. Reports are lost when the process is killed, when the write fails, and when
 * the buffer is full.
 *
 * Owner: the telemetry service.
 */
export class TelemetryBuffer implements Collector {
  readonly #deps: BufferDeps;
  readonly #isDue: () => void;
  #waiting = nothing();
  #dropped = 0;
  #isClosed = false;

  constructor(deps: BufferDeps) {
    this.#deps = deps;
    this.#isDue = deps.periodicWriter.register(this);
  }

  /** @param personId owner of the session, for a viewer's report; null: a host's report */
  sample(row: SessionSamplesTable, personId: string | null): void {
    if (this.#take(row.metrics.length, personId)) this.#waiting.samples.push(row);
  }

  /**
   * @param personId as above
   * @param isFromHost from a host that is not known to run the session, so the write checks the session's host
   */
  event(row: SessionTraceEventsTable, personId: string | null, isFromHost: boolean): void {
    if (this.#take(row.payload.length, personId)) this.#waiting.events.push({ row, isFromHost });
  }

  /** Replaces the session's earlier clock. */
  clock(row: SessionClocksTable, personId: string): void {
    const { clocks } = this.#waiting;
    if (clocks.has(row.session_id) || this.#take(0, personId)) clocks.set(row.session_id, row);
  }

  /** Adds to the count of the session and cause. */
  rejected(row: SessionRejectedTimesTable, personId: string): void {
    const { rejected } = this.#waiting;
    const key = `${row.session_id} ${row.cause}`;
    const known = rejected.get(key);
    if (known === undefined && !this.#take(0, personId)) return;
    rejected.set(key, { ...row, count: row.count + (known?.count ?? 0) });
  }

  take(): CollectedValues | null {
    const waiting = this.#waiting;
    const dropped = this.#dropped;
    if (waiting.count === 0 && dropped === 0) return null;
    this.#waiting = nothing();
    this.#dropped = 0;
    const { database, logger } = this.#deps;
    if (dropped > 0) logger.warn({ reports: dropped }, 'telemetry.dropped');
    // Keep the remaining disk space for the rows that end sessions.
    if (database.full || waiting.count === 0) return null;
    return {
      rows: {},
      write: (tx) => this.#store(tx, waiting),
      lost: (error) => logger.warn({ err: error, reports: waiting.count }, 'telemetry.not_written'),
    };
  }

  /** Drops later reports. */
  close(): void {
    this.#isClosed = true;
  }

  async #store(tx: Tx, { samples, events, clocks, rejected }: Waiting): Promise<void> {
    const asked = [...new Set(events.flatMap(({ row, isFromHost }) => (isFromHost ? row.session_id : [])))];
    const hosts = asked.length === 0 ? new Map<string, string>() : await hostsOfSessions(tx, asked);
    const own = events
      .filter(({ row, isFromHost }) => !isFromHost || hosts.get(row.session_id) === row.host_id)
      .map(({ row }) => row);
    await insertSamples(tx, samples);
    await insertEvents(tx, own);
    await putClocks(tx, sorted(clocks));
    await addRejectedTimes(tx, sorted(rejected));
    await this.#deps.retention.trim(tx, { events: own, samples });
  }

  /** @returns false: there is no room, and the report counts as dropped */
  #take(bytes: number, personId: string | null): boolean {
    const waiting = this.#waiting;
    if (this.#isClosed) return false;
    this.#isDue();
    const person = personId === null ? null : (waiting.people.get(personId) ?? { count: 0, bytes: 0 });
    if (
      waiting.count >= MAX_WAITING ||
      waiting.bytes + bytes > MAX_WAITING_BYTES ||
      (person !== null &&
        (person.count >= MAX_WAITING / PERSON_PARTS ||
          person.bytes + bytes > MAX_WAITING_BYTES / PERSON_PARTS))
    ) {
      this.#dropped += 1;
      return false;
    }
    if (personId !== null && person !== null) {
      person.count += 1;
      person.bytes += bytes;
      waiting.people.set(personId, person);
    }
    waiting.count += 1;
    waiting.bytes += bytes;
    return true;
  }
}

/** Rows sorted by key: two transactions that write the same rows in different orders could deadlock. */
const sorted = <Row>(rows: ReadonlyMap<string, Row>): Row[] =>
  [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
