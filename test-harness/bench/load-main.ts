/**
 * The load generator, a process of its own: reads one job a line from standard input and answers each with one line.
 * Bodies are read from files, which hold what the server must send, byte for byte.
 */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import autocannon, { type LoadRequest } from 'autocannon';
import type { LoadFigures, LoadJob } from './load.ts';

/** The whole body is compared for one answer in so many; length and status for each. */
const COMPARE_EVERY = 20;

const bodies = new Map<string, string>();

function bodyOf(file: string): string {
  let body = bodies.get(file);
  if (body === undefined) {
    // The generator hands bodies out as UTF-8 text, and so is the file read.
    body = readFileSync(file, 'utf8');
    bodies.set(file, body);
  }
  return body;
}

async function run(job: LoadJob): Promise<LoadFigures> {
  let wrong = 0;
  let answered = 0;
  const connections = job.connections.map((requests) =>
    requests.map(({ method = 'GET', path, token, forwardedFor, body, expectFile }): LoadRequest => {
      const expected = expectFile === undefined ? null : bodyOf(expectFile);
      return {
        method,
        path,
        headers: {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(forwardedFor !== undefined && { 'x-forwarded-for': forwardedFor }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body }),
        onResponse(status, text) {
          answered += 1;
          if (status < 200 || status > 299) wrong += 1;
          else if (expected === null) return;
          else if (text.length !== expected.length) wrong += 1;
          else if (answered % COMPARE_EVERY === 0 && text !== expected) wrong += 1;
        },
      };
    }),
  );
  const times: number[] = [];
  let opened = 0;
  const startedMs = performance.now();
  let lastMs = startedMs;
  const load = autocannon({
    url: job.url,
    connections: connections.length,
    ...(job.seconds === null
      ? { amount: connections.reduce((sum, requests) => sum + requests.length, 0) * job.repeat }
      : { duration: job.seconds }),
    timeout: 20,
    sampleInt: 50,
    setupClient(client) {
      client.setRequests(connections[opened] ?? []);
      opened += 1;
    },
  });
  load.on('response', (_client, _status, _bytes, durationMs) => {
    lastMs = performance.now();
    times.push(durationMs);
  });
  const { errors } = await load;
  return { requests: times.length, seconds: (lastMs - startedMs) / 1000, wrong: wrong + errors, times };
}

for await (const line of createInterface({ input: process.stdin })) {
  const job = JSON.parse(line) as LoadJob;
  process.stdout.write(`${JSON.stringify(await run(job))}\n`);
}
