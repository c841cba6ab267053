import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Certification } from '@footlight/protocol/rest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeAgent, honest } from '../src/fake-agent/index.ts';
import { eventually, PATIENCE_MS, startProgram } from '../src/stack/program.ts';
import { type Stack, startStack } from '../src/stack/stack.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
/** The full sweep of this machine, or, in the short form, two cells whose dwell time allows only a few samples. */
const PROFILES = LONG ? '720p30-h264,720p60-h264,1080p60-h264' : '720p30-h264';
const BITRATES = LONG ? '4000,6000,8000,12000' : '3000,4000';
const DWELL = LONG ? '25' : '9';
/** Maximum number of concurrent sessions. */
const MAX = LONG ? '4' : '2';

/** Earlier samples are not judged (docs/quality.md, "Verdicts"). */
const SETTLING_MS = 6_000;

type Metrics = Record<string, number | boolean | string>;
/** A measured cell: its request, and the samples before its verdict, oldest first. */
interface Recorded {
  cell: { gpu_index: number; encoder: string; stream_profile_id: string; bitrate_kbps: number };
  samples: { ts_unix_ms: number; metrics: Metrics }[];
}

describe('scripts/certify on this machine', () => {
  let stack: Stack;
  let admin: { token: string; email: string; password: string };
  let hostId: string;
  let base: string;

  beforeAll(async () => {
    stack = await startStack({ agentEnv: { SERVICE_ENCODE_SLOTS: '4' } });
    admin = await stack.claim();
    hostId = (await ask('GET', '/v1/hosts')).items[0].id;
    base = `/v1/admin/hosts/${hostId}/encoder-certification`;
  });
  afterAll(() => stack?.stop());

  async function ask(method: string, url: string, body?: object) {
    const answer = await stack.call(method, url, {
      token: admin.token,
      ...(body === undefined ? {} : { body }),
    });
    expect([method, url, answer.status < 300, answer.body?.error]).toEqual([method, url, true, undefined]);
    return answer.body;
  }
  const listed = async (): Promise<Certification[]> => (await ask('GET', base)).certifications;

  /** @returns the program's exit code and output */
  async function certify(words: string[], interruptAt: (() => boolean) | null = null) {
    const log = path.join(stack.directory, `certify-${performance.now()}.log`);
    const program = startProgram(
      'certify',
      ['--host', 'test-host', '--email', admin.email, '--url', stack.httpsUrl, ...words],
      { FOOTLIGHT_PASSWORD: admin.password },
      log,
    );
    if (interruptAt !== null) {
      await eventually('the moment to interrupt', 60_000, () => interruptAt() || null);
      await program.kill('SIGINT');
    }
    const { code } = await program.exited;
    return { code, said: program.log() };
  }

  /** The measured cells, with the samples before their verdicts. */
  async function recorded(rows: readonly Certification[]): Promise<Recorded[]> {
    const { items } = await ask('GET', '/v1/admin/sessions?limit=1000');
    return Promise.all(
      rows.map(async ({ gpu_index, encoder, stream_profile_id, bitrate_kbps, sample_count }) => {
        const session = items.find(
          (one: { end_reason: string; stream_profile_id: string; stream: { bitrate_kbps: number } }) =>
            one.end_reason === 'cert bench complete' &&
            one.stream_profile_id === stream_profile_id &&
            one.stream.bitrate_kbps === bitrate_kbps,
        );
        const page = await ask('GET', `/v1/admin/sessions/${session.id}/metrics?source=agent&limit=1000`);
        const samples: Recorded['samples'] = page.items.toReversed();
        const judged = samples.filter(({ metrics }) => 'encode_ms' in metrics && 'fps' in metrics);
        const settledMs = (judged[0]?.ts_unix_ms ?? 0) + SETTLING_MS;
        // Another sample may arrive after the verdict and before the end of the cell's session.
        const late = judged.filter(({ ts_unix_ms }) => ts_unix_ms > settledMs).length - sample_count;
        return {
          cell: { gpu_index, encoder, stream_profile_id, bitrate_kbps },
          samples: samples.slice(0, samples.length - late),
        };
      }),
    );
  }

  test('--concurrency adds sessions until one is too slow, and stores the curve', {
    timeout: 300_000,
  }, async () => {
    const words = ['--concurrency', '--profiles', '720p30-h264', '--bitrates', '3000', '--dwell', DWELL];
    const { code, said } = await certify([...words, '--most', MAX]);
    process.stdout.write(said);
    expect(code).toBe(0);
    const { items } = await ask('GET', `${base}/concurrency`);
    expect(items).toEqual([
      expect.objectContaining({
        gpu_index: 0,
        encoder: 'openh264',
        bitrate_kbps: 3_000,
        stream_profile_id: '720p30-h264',
      }),
    ]);
    const [{ curve, sessions }] = items;
    expect(curve.map(({ n }: { n: number }) => n)).toEqual(curve.map((_: unknown, i: number) => i + 1));
    // All points except the last one were fast enough. The last one was also fast enough if the limit of --most ended
    // the curve.
    expect([curve.length - 1, curve.length]).toContain(sessions);
    for (const { n, encode_ms_p95, output_fps } of curve.slice(0, sessions)) {
      expect([n, encode_ms_p95 <= 1000 / 30]).toEqual([n, true]);
      expect([n, output_fps > 0]).toEqual([n, true]);
      expect(said).toContain(`${n} at once: p95 ${encode_ms_p95.toFixed(1)} of 33.3 ms`);
    }
    expect((await ask('GET', '/v1/admin/sessions?state=active')).items).toEqual([]);
  });

  test('verdicts depend only on the samples: a fake agent that sends the same samples gets the same rows', {
    timeout: 1_500_000,
  }, async () => {
    const record = path.join(stack.directory, 'sweep.json');
    const words = ['--profiles', PROFILES, '--bitrates', BITRATES, '--dwell', DWELL, '--record', record];
    const isMeasuring = () => JSON.parse(readFileSync(record, 'utf8')).under_way !== null;
    const interrupted = await certify(words, isMeasuring);
    expect([interrupted.code, interrupted.said]).toEqual([
      130,
      expect.stringContaining('Repeat the command to continue'),
    ]);
    expect((await ask('GET', '/v1/admin/sessions?state=active')).items).toEqual([]);

    const { code, said } = await certify(words);
    process.stdout.write(said);
    expect([code, said]).toEqual([0, expect.stringContaining('Continuing the sweep')]);
    expect(said).not.toContain(admin.password);
    const rows = await listed();
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) expect(row).toMatchObject({ encoder: 'openh264', gpu_index: 0 });
    const cells = await recorded(rows);
    for (const { samples } of cells) expect(samples[0]?.metrics).toMatchObject({ abr_mode: 'off' });

    await stack.agent.kill('SIGTERM');
    const agent = await sameHost(rows[0]?.agent_version ?? '');
    try {
      for (const { cell, samples } of cells) {
        const { session_id } = await ask('POST', `${base}/cells`, cell);
        for (const { ts_unix_ms: ts, metrics } of samples)
          agent.send({ type: 'session_metrics', session_id, ts, window_ms: 1_000, metrics });
        await agent.heard();
        await ask('POST', `${base}/cells/${session_id}/finalize`);
        await eventually('the session is over', PATIENCE_MS, async () =>
          (await ask('GET', `/v1/sessions/${session_id}`)).session.state === 'stopped' ? true : null,
        );
      }
    } finally {
      await agent.close();
    }
    const measured = ({ measured_at: _, ...fields }: Certification) => fields;
    const replayed = await listed();
    expect(replayed.map(measured)).toEqual(rows.map(measured));
    for (const [i, row] of replayed.entries()) expect(row.measured_at).not.toBe(rows[i]?.measured_at);
  });

  /** Connects a fake agent in place of the real one. */
  async function sameHost(agentVersion: string): Promise<FakeAgent> {
    const { node_secret: secret } = JSON.parse(
      readFileSync(path.join(stack.directory, 'agent', 'node.json'), 'utf8'),
    );
    const agent = new FakeAgent({
      url: stack.httpUrl,
      nodeName: 'test-host',
      credential: { secret },
      register: { agent_version: agentVersion },
      behaviour: { ...honest, bench: () => null },
    });
    await agent.connect();
    await eventually('the host takes cells', PATIENCE_MS, async () => {
      const host = await ask('GET', `/v1/hosts/${hostId}`);
      return host.status === 'online' && host.capacity_detection === 'ok' ? true : null;
    });
    return agent;
  }
});
