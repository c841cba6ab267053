/**
 * The cost of agents, compared with a bare ws server that parses their frames and answers them.
 * - fanin: 10,000 agents that send a heartbeat every 5 s: the memory that they add, and the CPU time that they cost.
 *   Both servers collect their garbage before the agents connect; otherwise the memory of old garbage would be reused,
 *   and the agents would seem to add less. Memory is read twice: during heartbeats (the median of many readings), which
 *   depends on the last garbage collection, and after a forced second collection in both servers.
 * - storm: 1,000 agents with 4 sessions each reconnect at once, each with a report of every session; the time until all
 *   reports are handled. Afterwards every session must exist once, in the state and with the text reported last.
 * - reconnect: the control plane is killed and restarted after 30 s, with one agent and then with 1,000 agents. They
 *   reconnect with the backoff of the contract. The figure is the time from the restarted control plane's first answer
 *   on /health until every host is online. It has no reference.
 */
import { readFileSync } from 'node:fs';
import { fetch } from 'undici';
import { Collected } from '../../src/stack/collected.ts';
import { eventually } from '../../src/stack/program.ts';
import { cpuMs, type Worker } from '../api/load.ts';
import { alternate, exitStatus, judge, median, printLine, printVerdict } from '../rounds.ts';
import { type Fleet, type Side, startReference, withFleet } from './fleet-instance.ts';

/** detail null: the agents send no reports. */
export type AgentsJob =
  | { kind: 'connect'; url: string; heartbeatMs: number; detail: string | null }
  /** The answer comes at once. The agents then reconnect automatically until they are dropped. */
  | { kind: 'stay'; url: string; heartbeatMs: number }
  /** Number of agents with a socket. */
  | { kind: 'open' }
  | { kind: 'rest'; ms: number }
  | { kind: 'drop' };

/** wrong: agents that lost their link, or received commands that the bench did not expect. */
export interface AgentsFigures {
  seconds: number;
  wrong: number;
  /** Answer to `open` only. */
  open?: number;
}

const FANIN = { agents: 10_000, heartbeatMs: 5_000, settleMs: 10_000, windowMs: 15_000, readEveryMs: 500 };
/** A server is idle if it uses less than IDLE_CPU_MS of CPU time in REST_MS. */
const IDLE_CPU_MS = 10;
const REST_MS = 250;
const REST_LIMIT_MS = 10_000;
const FANIN_MARKS = { memory: 3, cpu: 4 };
const STORM = { agents: 1_000, sessions: 4 };
const STORM_MARK = 4;
const RECONNECT = { fleets: [1, 1_000], sessions: 4, heartbeatMs: 5_000, awayMs: 30_000, limitMs: 60_000 };
const RECONNECT_MARK_SECS = 5;
const PAGE = 1_000;
export const AGENTS = 'test-harness/bench/fleet/agents-main.ts';
const BARE = 'test-harness/bench/fleet/bare-agents-main.ts';

/** @returns the exit status */
export async function benchFanin(rounds: number): Promise<number> {
  return withFleet(
    { hosts: FANIN.agents, sessionsEach: 0 },
    AGENTS,
    async ({ load: agents, startControl }) => {
      const collected = new Collected();
      const measure = async (start: (env: Record<string, string>) => Promise<Side>): Promise<number[]> => {
        const side = await start(collected.env);
        try {
          await collected.collect(side.pid);
          const before = residentKb(side.pid);
          await run(agents, { kind: 'connect', url: side.url, heartbeatMs: FANIN.heartbeatMs, detail: null });
          await run(agents, { kind: 'rest', ms: FANIN.settleMs });
          const readings: number[] = [];
          const reading = setInterval(() => readings.push(residentKb(side.pid)), FANIN.readEveryMs);
          const began = cpuMs(side.pid);
          await run(agents, { kind: 'rest', ms: FANIN.windowMs });
          const cpu = cpuMs(side.pid) - began;
          clearInterval(reading);
          await collected.collect(side.pid);
          return [median(readings) - before, residentKb(side.pid) - before, cpu];
        } finally {
          await run(agents, { kind: 'drop' });
          await side.stop();
        }
      };
      const names = ['fanin memory', 'fanin memory kept', 'fanin cpu'];
      const marks = [FANIN_MARKS.memory, FANIN_MARKS.memory, FANIN_MARKS.cpu];
      const figures = await alternate(
        rounds,
        {
          reference: () => measure((env) => startReference(BARE, env)),
          subject: () => measure(startControl),
        },
        names,
      ).finally(() => collected.close());
      const judgements = names.map((name, n) => {
        const mark = marks[n] ?? Number.NaN;
        return { ...judge(name, figures[n] ?? [], (ratio) => ratio <= mark), mark };
      });
      for (const judgement of judgements) printVerdict(judgement);
      return Math.max(...judgements.map(({ verdict }) => exitStatus(verdict)));
    },
  );
}

/** @returns the exit status */
export async function benchStorm(rounds: number): Promise<number> {
  return withFleet(
    { hosts: STORM.agents, sessionsEach: STORM.sessions },
    AGENTS,
    async ({ fleet, load: agents, startControl }) => {
      const sides = { reference: await startReference(BARE), subject: await startControl() };
      let round = 0;
      const measure = async (name: 'reference' | 'subject'): Promise<number[]> => {
        round += 1;
        const { url } = sides[name];
        const detail = `storm ${round}`;
        const figures = await run(agents, { kind: 'connect', url, heartbeatMs: 0, detail });
        if (name === 'subject') await checkSessions(url, fleet, detail);
        await run(agents, { kind: 'drop' });
        await rested(sides[name].pid);
        return [figures.seconds];
      };
      try {
        const [times = []] = await alternate(
          rounds,
          { reference: () => measure('reference'), subject: () => measure('subject') },
          ['storm'],
        );
        const judgement = judge('storm', times, (ratio) => ratio <= STORM_MARK, 's');
        printVerdict({ ...judgement, mark: STORM_MARK });
        return exitStatus(judgement.verdict);
      } finally {
        await Promise.all([sides.reference.stop(), sides.subject.stop()]);
      }
    },
  );
}

/** @returns the exit status */
export async function benchReconnect(rounds: number): Promise<number> {
  let isMet = true;
  for (const hosts of RECONNECT.fleets) {
    const seconds: number[] = [];
    await withFleet(
      { hosts, sessionsEach: RECONNECT.sessions },
      AGENTS,
      async ({ fleet, load: agents, startControl }) => {
        let side = await startControl();
        await run(agents, { kind: 'stay', url: side.url, heartbeatMs: RECONNECT.heartbeatMs });
        await allOnline(side.url, fleet, agents);
        for (let round = 1; round <= rounds; round += 1) {
          await side.kill();
          await new Promise((resolve) => setTimeout(resolve, RECONNECT.awayMs));
          side = await startControl({}, side.url);
          const answeredMs = performance.now();
          await allOnline(side.url, fleet, agents);
          seconds.push(Math.round(performance.now() - answeredMs) / 1_000);
          printLine({
            bench: 'reconnect',
            hosts,
            round,
            seconds: seconds.at(-1),
            startSecs: side.startSecs,
          });
        }
        await run(agents, { kind: 'drop' });
        await side.stop();
        return 0;
      },
    );
    const worst = Math.max(...seconds);
    const isMetHere = worst <= RECONNECT_MARK_SECS;
    isMet &&= isMetHere;
    printVerdict({
      bench: 'reconnect',
      hosts,
      rounds,
      medianSecs: median(seconds),
      worstSecs: worst,
      mark: `${RECONNECT_MARK_SECS} s`,
      verdict: isMetHere ? 'met' : 'missed',
    });
  }
  return isMet ? 0 : 1;
}

/**
 * Waits until every host of the fleet is online. A list of 1,000 hosts costs the server a large part of a second, so it
 * is requested only after all agents have a socket, and then rarely.
 * @throws when a host is not online in time
 */
export async function allOnline(url: string, fleet: Fleet, agents: Worker): Promise<void> {
  await eventually('every agent has a socket', RECONNECT.limitMs, async () => {
    agents.send(JSON.stringify({ kind: 'open' } satisfies AgentsJob));
    const { open } = JSON.parse(await agents.line()) as AgentsFigures;
    return open === fleet.hosts.length || null;
  });
  await eventually('every host is online', RECONNECT.limitMs, async () => {
    const answer = await fetch(`${url}/v1/hosts?limit=${PAGE}`, {
      headers: { authorization: `Bearer ${fleet.adminToken}` },
    });
    const { items } = (await answer.json()) as { items: { status: string }[] };
    if (items.filter(({ status }) => status === 'online').length === fleet.hosts.length) return true;
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    return null;
  });
}

/** @throws when an agent lost its link or was told to stop a session */
export async function run(agents: Worker, job: AgentsJob): Promise<AgentsFigures> {
  agents.send(JSON.stringify(job));
  const figures = JSON.parse(await agents.line()) as AgentsFigures;
  if (figures.wrong > 0)
    throw new Error(`${figures.wrong} agents lost their link, or were told to stop a session`);
  return figures;
}

/** Waits until a server has finished the work for its lost links, because that work is not part of the next storm. */
async function rested(pid: number): Promise<void> {
  let before = Number.NEGATIVE_INFINITY;
  await eventually('the server rests', REST_LIMIT_MS, async () => {
    const now = cpuMs(pid);
    const isIdle = now - before <= IDLE_CPU_MS;
    before = now;
    if (isIdle) return true;
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    return null;
  });
}

/** @throws when a session is missing, duplicated, not running, or does not show the text that its host reported last */
async function checkSessions(url: string, fleet: Fleet, detail: string): Promise<void> {
  const missing = new Set(fleet.hosts.flatMap(({ sessions }) => sessions));
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const answer = await fetch(`${url}/v1/admin/sessions?limit=${PAGE}${query}`, {
      headers: { authorization: `Bearer ${fleet.adminToken}` },
    });
    const page = (await answer.json()) as {
      items: { id: string; state: string; state_detail: string | null }[];
      next_cursor: string | null;
    };
    for (const { id, state, state_detail } of page.items) {
      if (!missing.delete(id)) throw new Error(`session ${id} is there twice, or should not be`);
      if (state !== 'running' || state_detail !== detail)
        throw new Error(`session ${id} is ${state}, "${state_detail}" instead of running, "${detail}"`);
    }
    cursor = page.next_cursor;
  } while (cursor !== null);
  if (missing.size > 0) throw new Error(`${missing.size} sessions are gone`);
}

/** Resident memory of a process, kB. */
function residentKb(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN);
}
