import { statSync } from 'node:fs';
import { nonterminalStates } from '@footlight/protocol';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Meters } from '../platform/meters.ts';

/** Seconds. A request that takes longer than the last bucket is an event stream or indicates a fault. */
const REQUEST_BUCKETS = [0.005, 0.025, 0.1, 0.5, 2.5, 10];
/** Seconds. A launch should take less than one second; with an image pull it takes minutes. */
const LAUNCH_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120, 600];
/** Seconds per step of a launch. Most take less than 0.1 s; an image pull takes minutes. */
const STEP_BUCKETS = [0.01, 0.05, 0.25, 1, 5, 30, 300];
/** Seconds. The states after `running` show how long a session lasted. */
const LIFE_BUCKETS = [60, 300, 900, 3_600, 14_400, 86_400];
/** Default metrics of the client library that are not exported. */
const COSTLY = ['resources', 'handles', 'requests'].flatMap((what) => [
  `nodejs_active_${what}`,
  `nodejs_active_${what}_total`,
]);
const OPEN_FDS = '/proc/self/fd';
/** Seconds per database statement. */
const QUERY_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 5];
/** Seconds per request over the bus, including the time until the host answers. */
const CALL_BUCKETS = [0.001, 0.01, 0.1, 1, 5, 30];
/** Methods that have their own label value; all others share one, because a client may send any word. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const HOST_STATUSES = ['online', 'draining', 'offline'] as const;

/** Values that are read when the metrics page is requested. */
export interface Sources {
  /** Sessions that have not ended, by state; a state without sessions may be missing. */
  sessions(): Promise<ReadonlyMap<string, number>>;
  /** Number of hosts by status; a status without hosts may be missing. */
  hosts(): Promise<ReadonlyMap<string, number>>;
  /** Number of encode slots of online hosts. */
  slots(): Promise<{ total: number; used: number }>;
  /** Number of pending and running runs by job and state. */
  openJobRuns(): Promise<readonly { job: string; state: string; count: number }[]>;
  agentSockets(): number;
  viewerSockets(): number;
  /** Whether messages can reach the other replicas; true if there are none. */
  busConnected(): boolean;
  /** Leases of background work that this process holds. */
  leases(): readonly string[];
  /** Connections to the database; null: the database uses no connections. */
  connections(): { open: number; idle: number; waiting: number } | null;
  /** Events that wait for the webhook, and the age of the oldest one in seconds; null: there is no webhook. */
  webhook(): Promise<{ count: number; oldestSeconds: number } | null>;
}

export interface Metrics {
  readonly meters: Meters;
  /** Call this before `text`. */
  setSources(sources: Sources): void;
  /** The page in the text format of Prometheus. @throws when the database does not answer */
  text(): Promise<string>;
  readonly contentType: string;
}

/** Collects the values that Prometheus reads. Series have no names or ids of people, hosts, apps and sessions. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  // Remove these metrics: they list every open socket, which takes a fifth of the page's time with 10,000 hosts.
  // footlight_sockets exports the same number.
  for (const name of COSTLY) registry.removeSingleMetric(name);
  countOpenFiles(registry);

  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name: `footlight_${name}`, help, labelNames, registers });
  const histogram = <Label extends string>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: readonly Label[] = [],
  ) => new Histogram({ name: `footlight_${name}`, help, labelNames, buckets, registers });
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Gauge({ name: `footlight_${name}`, help, labelNames, registers });
  const requests = counter(
    'http_requests_total',
    'Answers of the HTTP server, by declared route; "none" fits no route.',
    ['method', 'route', 'status'],
  );
  const requestSeconds = histogram(
    'http_request_seconds',
    'Time from the headers of a request to the end of its answer.',
    REQUEST_BUCKETS,
    ['method', 'route'],
  );
  const launches = counter('launches_total', 'Answered launches: launched, or the code of the refusal.', [
    'outcome',
  ]);
  const launchSeconds = histogram(
    'session_launch_seconds',
    'Time from a launch to the states assigned, starting and running.',
    LAUNCH_BUCKETS,
    ['state'],
  );
  const stepSeconds = histogram(
    'launch_step_seconds',
    'Time of each step of the launches whose app a viewer saw.',
    STEP_BUCKETS,
    ['step'],
  );
  const lifeSeconds = histogram(
    'session_life_seconds',
    'Time from a launch to the states stopping, stopped and failed.',
    LIFE_BUCKETS,
    ['state'],
  );
  const calls = histogram(
    'bus_request_seconds',
    'Time of a request over the bus until its answer, or until none came.',
    CALL_BUCKETS,
    ['subject', 'responder', 'answer'],
  );
  const queries = histogram(
    'database_statement_seconds',
    'Time of a statement of the database.',
    QUERY_BUCKETS,
  );
  const sessions = gauge('sessions', 'Sessions that have not ended, by state.', ['state']);
  const hosts = gauge('hosts', 'Hosts by status.', ['status']);
  const slots = gauge('encode_slots', 'Encode slots of the GPUs that online hosts reported last.');
  const slotsUsed = gauge('encode_slots_used', 'Of these, the encode slots that sessions hold.');
  // Not `job`, because Prometheus puts the name of the scrape job into this label.
  const jobRuns = gauge('job_runs', 'Runs of background jobs that wait or run.', ['job_name', 'state']);
  const sockets = gauge('sockets', 'Open sockets of this process: of agents, and of viewers.', ['of']);
  const busConnected = gauge(
    'bus_connected',
    '1: messages can reach the other control planes, or there are none.',
  );
  const leases = gauge('leases_held', 'Leases of background work that this process holds.', ['lease']);
  const connections = gauge('database_connections', 'Connections to Postgres; waiting: callers.', ['state']);

  const webhookEvents = gauge('webhook_events', 'Events that the webhook has not confirmed.');
  const webhookAge = gauge('webhook_oldest_seconds', 'Age of the oldest of these events; 0: none waits.');

  let sources: Sources | null = null;

  async function readSources(from: Sources): Promise<void> {
    const [sessionCounts, hostCounts, slotCounts, runs, backlog] = await Promise.all([
      from.sessions(),
      from.hosts(),
      from.slots(),
      from.openJobRuns(),
      from.webhook(),
    ]);
    for (const state of nonterminalStates) sessions.set({ state }, sessionCounts.get(state) ?? 0);
    for (const status of HOST_STATUSES) hosts.set({ status }, hostCounts.get(status) ?? 0);
    slots.set(slotCounts.total);
    slotsUsed.set(slotCounts.used);
    jobRuns.reset();
    for (const { job, state, count } of runs) jobRuns.set({ job_name: job, state }, count);
    sockets.set({ of: 'agents' }, from.agentSockets());
    sockets.set({ of: 'viewers' }, from.viewerSockets());
    busConnected.set(from.busConnected() ? 1 : 0);
    leases.reset();
    for (const lease of from.leases()) leases.set({ lease }, 1);
    webhookEvents.set(backlog?.count ?? 0);
    webhookAge.set(backlog?.oldestSeconds ?? 0);
    const pool = from.connections();
    for (const [state, count] of Object.entries(pool ?? {})) connections.set({ state }, count);
  }

  return {
    meters: {
      answered(givenMethod, givenRoute, status, seconds) {
        const method = METHODS.has(givenMethod) ? givenMethod : 'other';
        const route = givenRoute ?? 'none';
        requests.inc({ method, route, status });
        requestSeconds.observe({ method, route }, seconds);
      },
      launched: (outcome) => launches.inc({ outcome }),
      sessionReached(state, seconds) {
        const hasEnded = state === 'stopping' || state === 'stopped' || state === 'failed';
        (hasEnded ? lifeSeconds : launchSeconds).observe({ state }, seconds);
      },
      launchStepEnded: (step, seconds) => stepSeconds.observe({ step }, seconds),
      called: (subject, responder, answer, seconds) => calls.observe({ subject, responder, answer }, seconds),
      queried: (seconds) => queries.observe(seconds),
    },
    setSources(given) {
      sources = given;
    },
    async text() {
      if (sources === null) throw new Error('the metrics have no sources yet');
      await readSources(sources);
      return registry.metrics();
    },
    contentType: registry.contentType,
  };
}

/**
 * Replaces the library's metric of open files, which lists them at each reading: 8 ms with 10,000 sockets. Linux 6.2 and
 * later report their number as the size of the folder; earlier ones report 0, and the library's metric stays.
 */
function countOpenFiles(registry: Registry): void {
  const count = () => statSync(OPEN_FDS, { throwIfNoEntry: false })?.size ?? 0;
  if (count() === 0) return;
  const name = 'process_open_fds';
  registry.removeSingleMetric(name);
  new Gauge({
    name,
    help: 'Number of open file descriptors.',
    registers: [registry],
    collect() {
      this.set(count());
    },
  });
}
