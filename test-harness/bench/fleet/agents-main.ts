/**
 * Many agents in one process: reads one job a line from standard input and answers each with one line. Argument: a file
 * with the fleet as large-fleet-main prints it.
 */

import { setMaxListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { FakeAgent } from '../../src/fake-agent/index.ts';
import type { AgentsFigures, AgentsJob } from './fleet.ts';
import type { Fleet } from './fleet-instance.ts';

/** Number of sockets that are opened at the same time. More sockets would only wait in the kernel's backlog. */
const AT_ONCE = 200;
const SEEN_LIMIT_MS = 60_000;

const fleet = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Fleet;
let agents: FakeAgent[] = [];
let staying = new AbortController();

function fresh(url: string, heartbeatMs: number): FakeAgent[] {
  return fleet.hosts.map(({ nodeName, sessions }) => {
    const agent = new FakeAgent({
      url,
      nodeName,
      credential: { secret: nodeName.repeat(3) },
      heartbeatMs,
    });
    for (const session_id of sessions) agent.hold({ session_id, app_id: fleet.appId });
    return agent;
  });
}

/**
 * Connects all agents. If `detail` is given, each agent reports this detail for each of its sessions and waits until
 * the server has handled the reports.
 */
async function connect({
  url,
  heartbeatMs,
  detail,
}: AgentsJob & { kind: 'connect' }): Promise<AgentsFigures> {
  agents = fresh(url, heartbeatMs);
  if (detail !== null)
    for (const agent of agents)
      for (const id of agent.sessions.keys()) agent.reportState(id, 'running', { detail });
  const startedMs = performance.now();
  let next = 0;
  const one = async () => {
    for (let agent = agents[next++]; agent !== undefined; agent = agents[next++]) {
      await agent.connect();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  const reports = detail === null ? 0 : (fleet.hosts[0]?.sessions.length ?? 0);
  if (reports > 0)
    await Promise.all(
      agents.map((agent) => agent.waitFor('seen', ({ seq }) => seq >= reports, SEEN_LIMIT_MS)),
    );
  const stopped = agents.flatMap(({ commands }) =>
    commands.filter(({ type }) => type === 'session_stop'),
  ).length;
  return { seconds: (performance.now() - startedMs) / 1_000, wrong: stopped };
}

async function answer(job: AgentsJob): Promise<AgentsFigures> {
  switch (job.kind) {
    case 'connect':
      return connect(job);
    case 'stay': {
      agents = fresh(job.url, job.heartbeatMs);
      staying = new AbortController();
      setMaxListeners(0, staying.signal);
      for (const agent of agents) void agent.stay(staying.signal);
      return { seconds: 0, wrong: 0 };
    }
    case 'open':
      return { seconds: 0, wrong: 0, open: agents.filter(({ isOpen }) => isOpen).length };
    case 'rest': {
      await delay(job.ms);
      return { seconds: job.ms / 1_000, wrong: agents.filter(({ isOpen }) => !isOpen).length };
    }
    case 'drop':
      staying.abort();
      await Promise.all(agents.map((agent) => agent.drop()));
      return { seconds: 0, wrong: 0 };
  }
}

for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line) as AgentsJob))}\n`);
