import { randomBytes, randomUUID } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import type { CaptureResult, SessionTraceEvent } from '@footlight/protocol/agent';
import { captureResultSchema } from '@footlight/protocol/agent';
import { assignment, type FakeControl } from '@footlight/test-harness/fake-control';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Assignment, type HostedSessions, startHostedSessions } from '../../testing/hosted-sessions.ts';
import { NO_TRACES } from '../../testing/traces.ts';

const SECRET = `hunter2-${randomBytes(8).toString('hex')}`;
const TOKEN = `Ab9${randomBytes(32).toString('base64url')}`;
/** Prints its environment and a token, and then draws endlessly. */
const TALKATIVE = [
  '/bin/sh',
  '-c',
  'echo "it knows $PASSPHRASE"; echo "LANG=$SHORT"; echo "token=$1"; echo "read /etc/machine/id"; for n in 1 2 3; do echo "line $n"; done; exec xterm -e sh -c "while :; do date +%N; done"',
  'app',
  TOKEN,
];

let host: Awaited<ReturnType<typeof startHostedSessions>>;
let control: FakeControl;
let sessions: HostedSessions;

beforeAll(async () => {
  host = await startHostedSessions([71_420, 71_429]);
  ({ control, sessions } = host);
});
afterEach(() => vi.waitFor(async () => expect(await sessions.traces()).toEqual(NO_TRACES), 20_000));
afterAll(() => host?.close());

const order = (
  { session_id }: Pick<Assignment, 'session_id'>,
  kind: string,
  params: Record<string, unknown> = {},
  capture_id = randomUUID(),
) =>
  control.command({
    type: 'session_capture',
    session_id,
    capture_id,
    kind,
    budget: { max_bytes: 262_144, max_ms: 10_000 },
    params,
  });

const resultsOf = (captureId: string): SessionTraceEvent[] =>
  control.messages.flatMap((message) =>
    message.type === 'session_trace_event' && message.payload.capture_id === captureId ? [message] : [],
  );

/** Starts a capture and waits for its event. */
async function captured(body: Assignment, kind: string, params = {}): Promise<CaptureResult> {
  const captureId = randomUUID();
  expect(await order(body, kind, params, captureId)).toMatchObject({ ok: true });
  const event = await control.wait('session_trace_event', ({ payload }) => payload.capture_id === captureId);
  expect(event.event).toBe(`diag.${kind}`);
  expect(event.seq).toBeGreaterThan(0);
  return captureResultSchema.parse(event.payload);
}

const textOf = ({ data = '' }: CaptureResult) => gunzipSync(Buffer.from(data, 'base64')).toString();

describe('captures of a running session', () => {
  test('contain its pipeline, its encoder, its frames and its log', async () => {
    const body = assignment(TALKATIVE);
    body.app.env = { PASSPHRASE: SECRET, SHORT: 'de' };
    await sessions.launch(body);
    await sessions.reached(body, 'app presented');

    const graph = await captured(body, 'pipeline_dot');
    expect(graph).toMatchObject({ content_type: 'text/vnd.graphviz', truncated: false });
    const dot = textOf(graph);
    expect(dot).toMatch(/^digraph/);
    for (const element of ['GstXImageSrc', 'GstOpenh264Enc', 'GstRtpH264Pay', 'GstAppSink', 'video/x-h264'])
      expect(dot).toContain(element);
    // The graph must contain the state of a running element, but not properties, which would appear as name=value.
    expect(dot).toContain('[>]');
    expect(dot).not.toMatch(/display-name|bitrate=|\/home|\/tmp/);

    const props = await captured(body, 'encoder_props');
    expect(props).toMatchObject({
      encoding: 'json',
      json: {
        encoder_factory: 'openh264enc',
        codec: 'h264',
        properties: { bitrate: 2_000_000, complexity: 'low', 'enable-frame-skip': false },
        caps: {
          encoder_sink: expect.stringContaining('width=(int)640'),
          encoder_src: expect.stringContaining('video/x-h264'),
          payloader_src: expect.stringContaining('application/x-rtp'),
        },
        scale_stage: { element: 'videoconvertscale', src: expect.stringContaining('I420') },
      },
    });
    await control.command({ type: 'session_tune', session_id: body.session_id, bitrate_kbps: 1_000 });
    expect(await captured(body, 'encoder_props')).toMatchObject({
      json: { properties: { bitrate: 1_000_000 } },
    });

    const burst = await captured(body, 'burst_stats', { windows: 3, window_ms: 500 });
    const { window_ms, windows } = burst.json as {
      window_ms: number;
      windows: { t_ms: number; fps: number; encode_ms: { n: number; samples: number[]; max: number } }[];
    };
    expect([window_ms, windows.length]).toEqual([500, 3]);
    expect(windows[0]?.t_ms).toBe(0);
    for (const { fps, encode_ms } of windows) {
      expect(fps).toBeGreaterThan(0);
      expect(encode_ms.samples).toHaveLength(encode_ms.n);
      expect(encode_ms.max).toBeGreaterThan(0);
    }
    expect(burst.duration_ms).toBeGreaterThanOrEqual(1_400);

    const log = textOf(await captured(body, 'log_tail'));
    expect(log).toContain('app line 3\n');
    expect(log).toContain('app it knows [masked]\n');
    expect(log).toContain('app LANG=[masked]\n');
    expect(log).toContain('app token=[masked]\n');
    expect(log).toContain('app read …/id\n');
    for (const line of log.trimEnd().split('\n')) expect(line).toMatch(/^(agent|app) /);
    expect(
      JSON.stringify(control.messages.filter(({ type }) => type === 'session_trace_event')),
    ).not.toContain(SECRET);
    expect(log).not.toContain(TOKEN);
    expect(textOf(await captured(body, 'log_tail', { lines: 2 })).split('\n')).toHaveLength(3);
    await sessions.stop(body);
  });

  test('one at a time, even for another kind', async () => {
    const body = assignment(['xterm']);
    await sessions.launch(body);
    await sessions.reached(body, 'app presented');
    const first = randomUUID();
    expect(await order(body, 'burst_stats', { windows: 4, window_ms: 250 }, first)).toMatchObject({
      ok: true,
    });
    expect(await order(body, 'log_tail')).toMatchObject({ ok: false, code: 'busy' });
    expect(await order(body, 'burst_stats', {}, first)).toMatchObject({ ok: true });
    await control.wait('session_trace_event', ({ payload }) => payload.capture_id === first);
    expect(await order(body, 'log_tail')).toMatchObject({ ok: true });
    await sessions.stop(body);
    expect(resultsOf(first)).toHaveLength(1);
  });

  test('a running one ends with the session', async () => {
    const body = assignment(['xterm']);
    await sessions.launch(body);
    await sessions.reached(body, 'app presented');
    const captureId = randomUUID();
    await order(body, 'burst_stats', { windows: 10, window_ms: 1_000 }, captureId);
    await sessions.stop(body);
    expect(resultsOf(captureId).map(({ payload }) => payload.error)).toEqual(['the session ended']);
  });
});

describe('the agent refuses', () => {
  test('of unknown kinds or sessions, or of something that the session does not have yet', async () => {
    expect(await order({ session_id: randomUUID() }, 'log_tail')).toMatchObject({
      ok: false,
      code: 'no_such_session',
    });
    const body = assignment(['xterm']);
    expect(await control.command(body)).toMatchObject({ ok: true });
    expect(await order(body, 'screenshot')).toMatchObject({ ok: false, code: 'unknown_kind' });
    expect(await order(body, 'pipeline_dot')).toMatchObject({ ok: false, code: 'unsupported' });
    expect((await captured(body, 'log_tail')).error).toBeUndefined();
    await sessions.stop(body);
    expect(await order(body, 'log_tail')).toMatchObject({ ok: false, code: 'no_such_session' });
  });
});
