/**
 * Agents and pages of a fleet in one process: reads one job a line from standard input and answers each with one line.
 * Arguments: a file with the fleet as large-fleet-main prints it, and a file with samples.
 */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent as HttpAgent, request } from 'undici';
import { FakeAgent } from '../../src/fake-agent/index.ts';
import type { Fleet } from '../fleet/fleet-instance.ts';
import type { SamplesFile } from './samples.ts';

export type ReportersJob =
  | { kind: 'connect'; url: string }
  /** During the reports another person lists apps ten times a second. */
  | { kind: 'report'; seconds: number; telemetry: boolean }
  | { kind: 'drop' };

export interface ReportersFigures {
  /** Number of sent samples. */
  samples: number;
  /** Refused or failed requests. */
  wrong: number;
  /** Duration of each request for apps, in milliseconds. */
  others: number[];
}

/** Every five seconds, a page posts its measurements of each second, and an agent sends one measurement. */
const PERIOD_MS = 5_000;
const VIEWER_SAMPLES = 5;
/** A page posts its clock once a minute. */
const CLOCK_PERIODS = 12;
const OTHERS_EVERY_MS = 100;

const fleet = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Fleet;
const samples = JSON.parse(readFileSync(process.argv[3] ?? '', 'utf8')) as SamplesFile;
const dispatcher = new HttpAgent({ connections: 64, pipelining: 1 });
const agents: FakeAgent[] = [];
const reporting: { id: string; token: string; agent: FakeAgent }[] = [];
let url = '';
let period = 0;

async function connect(to: string): Promise<ReportersFigures> {
  url = to;
  for (const { nodeName, sessions, ownerToken } of fleet.hosts) {
    const agent = new FakeAgent({
      url,
      nodeName,
      credential: { secret: nodeName.repeat(3) },
      heartbeatMs: PERIOD_MS,
    });
    agents.push(agent);
    for (const session_id of sessions) {
      agent.hold({ session_id, app_id: fleet.appId });
      reporting.push({ id: session_id, token: ownerToken, agent });
    }
    await agent.connect();
  }
  return { samples: 0, wrong: 0, others: [] };
}

async function ask(method: 'GET' | 'POST', path: string, token: string, body?: object): Promise<boolean> {
  const answer = await request(`${url}${path}`, {
    method,
    dispatcher,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  await answer.body.dump();
  return answer.statusCode === (method === 'GET' ? 200 : 202);
}

const at = (list: readonly object[], n: number) => list[n % list.length] as object;

/**
 * Sends one session's reports of a period.
 * @returns true: the server accepted all reports
 */
async function tell({ id, token, agent }: (typeof reporting)[number], n: number): Promise<boolean> {
  const nowMs = Date.now();
  agent.send({
    type: 'session_metrics',
    session_id: id,
    ts: nowMs,
    window_ms: PERIOD_MS,
    metrics: at(samples.host, n) as Record<string, number>,
  });
  const posts = [
    ask('POST', `/v1/sessions/${id}/stats`, token, {
      client: 'browser',
      samples: Array.from({ length: VIEWER_SAMPLES }, (_, k) => ({
        ts_unix_ms: nowMs - (VIEWER_SAMPLES - 1 - k) * 1_000,
        metrics: at(samples.viewer, n * VIEWER_SAMPLES + k),
        client_health: 'smooth',
        codec_mime_type: 'video/H264',
      })),
    }),
  ];
  if (n % CLOCK_PERIODS === 0)
    posts.push(
      ask('POST', `/v1/sessions/${id}/trace/clock`, token, { client_offset_ms: 0.5, uncertainty_ms: 1 }),
    );
  return (await Promise.all(posts)).every(Boolean);
}

async function report({ seconds, telemetry }: ReportersJob & { kind: 'report' }): Promise<ReportersFigures> {
  const figures: ReportersFigures = { samples: 0, wrong: 0, others: [] };
  const startedMs = performance.now();
  const endMs = startedMs + seconds * 1_000;
  const others = async () => {
    while (performance.now() < endMs) {
      const askedMs = performance.now();
      if (!(await ask('GET', '/v1/apps', fleet.adminToken))) figures.wrong += 1;
      figures.others.push(performance.now() - askedMs);
      await delay(OTHERS_EVERY_MS);
    }
  };
  const tellers = async () => {
    const under: Promise<void>[] = [];
    const periods = telemetry ? (seconds * 1_000) / PERIOD_MS : 0;
    for (let n = 0; n < periods; n++) {
      period += 1;
      for (const [index, session] of reporting.entries()) {
        const dueMs = startedMs + n * PERIOD_MS + (index * PERIOD_MS) / reporting.length;
        if (dueMs > performance.now()) await delay(dueMs - performance.now());
        figures.samples += VIEWER_SAMPLES + 1;
        under.push(
          tell(session, period).then((taken) => {
            if (!taken) figures.wrong += 1;
          }),
        );
      }
    }
    await Promise.all(under);
  };
  await Promise.all([others(), tellers()]);
  figures.wrong += agents.filter(({ isOpen }) => !isOpen).length;
  return figures;
}

async function answer(job: ReportersJob): Promise<ReportersFigures> {
  switch (job.kind) {
    case 'connect':
      return connect(job.url);
    case 'report':
      return report(job);
    case 'drop':
      await Promise.all(agents.map((agent) => agent.drop()));
      return { samples: 0, wrong: 0, others: [] };
  }
}

for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line) as ReportersJob))}\n`);
