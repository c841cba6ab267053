/**
 * What agents cost, beside a bare ws server that parses their frames and answers them.
 *
 * - fanin: 10,000 agents that send a heartbeat every 5 s: memory that they add, and CPU while they do.
 * - storm: 1,000 agents with 4 sessions each come back at once, each with a report of every session; the time until
 *   all of it was handled. Afterwards every session must be there once, in the state and with the text reported last.
 */
import { readFileSync } from 'node:fs';
import { fetch } from 'undici';
import { type Fleet, type Side, startReference, withFleet } from './fleet-instance.ts';
import { cpuMs, type Worker } from './load.ts';
import { alternate, exitStatus, judge, printLine } from './rounds.ts';

/** detail null: no reports. */
export type AgentsJob =
  | { kind: 'connect'; url: string; heartbeatMs: number; detail: string | null }
  | { kind: 'rest'; ms: number }
  | { kind: 'drop' };

/** wrong: agents that lost their link, or commands that should not have come. */
export interface AgentsFigures {
  seconds: number;
  wrong: number;
}

const FANIN = { agents: 10_000, heartbeatMs: 5_000, settleMs: 10_000, windowMs: 15_000 };
const FANIN_MARKS = { memory: 1.35, cpu: 3 };
const STORM = { agents: 1_000, sessions: 4 };
const STORM_MARK = 1.5;
const PAGE = 1_000;
const AGENTS = 'test-harness/bench/agents-main.ts';
const BARE = 'test-harness/bench/bare-agents-main.ts';

/** @returns the exit status */
export async function benchFanin(rounds: number): Promise<number> {
  return withFleet(
    { hosts: FANIN.agents, sessionsEach: 0 },
    AGENTS,
    async ({ load: agents, startControl }) => {
      const names = ['fanin memory', 'fanin cpu'];
      const measure = async (start: () => Promise<Side>): Promise<number[]> => {
        const side = await start();
        try {
          const before = residentKb(side.pid);
          await run(agents, { kind: 'connect', url: side.url, heartbeatMs: FANIN.heartbeatMs, detail: null });
          await run(agents, { kind: 'rest', ms: FANIN.settleMs });
          const began = cpuMs(side.pid);
          await run(agents, { kind: 'rest', ms: FANIN.windowMs });
          const cpu = cpuMs(side.pid) - began;
          return [residentKb(side.pid) - before, cpu];
        } finally {
          await run(agents, { kind: 'drop' });
          await side.stop();
        }
      };
      const [memory = [], cpu = []] = await alternate(
        rounds,
        {
          reference: () => measure(() => startReference(BARE)),
          subject: () => measure(startControl),
        },
        names,
      );
      const judgements = [
        {
          ...judge('fanin memory', memory, (ratio) => ratio <= FANIN_MARKS.memory),
          mark: FANIN_MARKS.memory,
        },
        { ...judge('fanin cpu', cpu, (ratio) => ratio <= FANIN_MARKS.cpu), mark: FANIN_MARKS.cpu },
      ];
      for (const judgement of judgements) printLine(judgement);
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
        return [figures.seconds];
      };
      try {
        const [times = []] = await alternate(
          rounds,
          { reference: () => measure('reference'), subject: () => measure('subject') },
          ['storm'],
        );
        const judgement = judge('storm', times, (ratio) => ratio <= STORM_MARK);
        printLine({ ...judgement, mark: STORM_MARK });
        return exitStatus(judgement.verdict);
      } finally {
        await Promise.all([sides.reference.stop(), sides.subject.stop()]);
      }
    },
  );
}

async function run(agents: Worker, job: AgentsJob): Promise<AgentsFigures> {
  agents.send(JSON.stringify(job));
  const figures = JSON.parse(await agents.line()) as AgentsFigures;
  if (figures.wrong > 0)
    throw new Error(`${figures.wrong} agents lost their link, or were told to stop something`);
  return figures;
}

/** @throws when a session is missing, doubled, not running, or shows another text than its host reported last */
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
