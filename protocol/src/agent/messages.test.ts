import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CAPTURE_MAX_MS, clampCapture, clampCaptureBudget } from './captures.ts';
import {
  type AgentMessage,
  type ControlMessage,
  encodeAgentFrame,
  encodeControlFrame,
  isCommand,
  parseAgentFrame,
  parseControlFrame,
  readRelayedSignal,
  relayedSignal,
} from './index.ts';
import { jobReportSchema } from './job-calls.ts';

const A = 'aaaaaaaa-0000-4000-8000-000000000001';
const B = 'bbbbbbbb-0000-4000-8000-000000000002';
const C = 'cccccccc-0000-4000-8000-000000000003';

const hello = {
  type: 'hello' as const,
  protocol: 1,
  client_id: A,
  client: { kind: 'browser' as const, name: 'Footlight', version: '0.1.0' },
  codecs: ['h264' as const],
};

const upstream: AgentMessage[] = [
  {
    type: 'register',
    node_name: 'gpu-01',
    agent_version: '0.1.0',
    protocol: { min: 1, max: 1 },
    boot_id: A,
    features: ['tune', 'something-new'],
    sessions: [{ session_id: B, state: 'running', app_id: C, started_at: null, viewer: true }],
    images: [{ image_id: 'x', version: '1', state: 'ready' }],
  },
  {
    type: 'capacity',
    detection: 'ok',
    host: { cpu_cores: 2, mem_mb: 4096, storage: [{ label: '/', path: '/', total_mb: 1, available_mb: 0 }] },
    gpus: [
      {
        index: 0,
        vendor: 'software',
        model: 'CPU',
        vram_mb_total: 0,
        encode_slots_total: 2,
        render_node: null,
      },
    ],
    encoders: [
      {
        family: 'openh264',
        gpu_index: 0,
        codec: 'h264',
        available: true,
        live_bitrate: true,
        live_resize: false,
      },
    ],
    codecs: ['h264'],
    codec_throughput: { h264: { max_pixel_rate_mpix_s: 120.5 } },
    effective_settings: { home_root: '/homes' },
    readiness: [
      { id: 'container_runtime', status: 'fail', summary: 'none', remediation: ['install podman'] },
    ],
  },
  {
    type: 'heartbeat',
    ts: 1,
    running_sessions: [A, B],
    gpu_vram: [{ index: 0, used_mb: 3 }],
    cpu_load: 0.25,
  },
  {
    type: 'session_state',
    seq: 1,
    session_id: B,
    ts: 2,
    state: 'failed',
    detail: 'starting app',
    failure_code: 'app_exited_early',
    app_log_tail: 'one\ntwo\n',
    home_bytes: 0,
  },
  {
    type: 'session_metrics',
    session_id: B,
    ts: 3,
    window_ms: 5000,
    metrics: { fps: 60, x: true, abr_mode: 'off' },
  },
  {
    type: 'session_trace_event',
    session_id: B,
    ts: 4,
    event: 'encoder.stall',
    payload: { phase: 'detected' },
    seq: 2,
  },
  { type: 'image_state', image_id: 'x', version: '1', state: 'pulling', progress_pct: 40 },
  { type: 'ack', id: C, ok: false, code: 'busy', error: 'one at a time' },
  {
    type: 'ack',
    id: C,
    ok: true,
    preflight: {
      answer: 'v=0\r\n',
      media_ports: { first: 50_000, last: 50_255, configured: true },
      fallback_port: 8444,
    },
  },
  {
    type: 'signaling',
    session_id: B,
    conn: 7,
    msg: { type: 'offer', pc_id: C, sdp: 'v=0\r\n', reason: 'first' },
  },
  { type: 'error', code: 'odd', message: 'something', ref: A },
];

const app = {
  image: '',
  args: ['/usr/bin/xterm'],
  env: { LANG: 'C.UTF-8' },
  mounts: [],
  gpu: false,
  label: 'Terminal',
  home: { provider: 'local' as const, ref: '/homes/a', container_path: '/home/user' },
};

const downstream: ControlMessage[] = [
  {
    type: 'registered',
    protocol: 1,
    host_id: A,
    node_secret: 's3cret',
    heartbeat_interval_ms: 5000,
    session_grace_secs: 600,
    server_ts: 1,
    last_seq: null,
  },
  { type: 'heartbeat_ack', echo: 1, server_ts: 2 },
  { type: 'seen', seq: 12 },
  {
    type: 'signaling',
    session_id: B,
    conn: 7,
    msg: { type: 'attach', client_id: A, hello, ice_servers: [] },
  },
  {
    type: 'session_assign',
    id: C,
    session_id: B,
    user_id: A,
    app_id: A,
    gpu_index: 0,
    app,
    stream: {
      width: 1280,
      height: 720,
      fps: 60,
      bitrate_kbps: 8000,
      abr_floor_kbps: 0,
      codec: 'h264',
      h264_profile: 'constrained-baseline',
      playout0_ms: 0,
      audio: true,
      mic: false,
      rungs: [[1280, 720]],
    },
    resources: { encode_slots: 1, vram_mb: 0 },
    video_topology: 'stream_only',
    idle_timeout_secs: 120,
    app_boot_timeout_secs: 300,
  },
  { type: 'session_start', id: C, session_id: B },
  { type: 'session_stop', id: C, session_id: B, reason: 'user_requested', grace_ms: 2000 },
  { type: 'session_swap_app', id: C, session_id: B, app_id: A, app },
  { type: 'session_display_update', id: C, session_id: B, ui_scale: 1.5 },
  { type: 'session_tune', id: C, session_id: B, bitrate_kbps: 5000, keyframe: true },
  {
    type: 'session_capture',
    id: C,
    session_id: B,
    capture_id: A,
    kind: 'log_tail',
    budget: { max_bytes: 1, max_ms: 1 },
    params: { lines: 10 },
  },
  { type: 'session_recording', id: C, session_id: B, recording_id: A, op: 'freeze' },
  { type: 'config_update', id: C, settings: { gop: 60 }, console_config: null },
  { type: 'restart', id: C },
  { type: 'image_ensure', id: C, image_id: 'x', version: '1', registry_ref: 'r' },
  {
    type: 'image_build',
    id: C,
    image_id: 'x',
    version: '1',
    context_url: 'https://h/x',
    context_subdir: '',
    dockerfile: 'Dockerfile',
    build_args: {},
    local_tag: 'service-local/x:1',
  },
  { type: 'image_remove', id: C, image_id: 'x' },
  {
    type: 'preflight',
    id: C,
    path: 'turn_udp',
    offer: 'v=0\r\n',
    ice_servers: [{ urls: ['turn:turn.example.org:3478'], username: 'u', credential: 'c' }],
  },
  { type: 'ack', id: C, ok: false, code: 'unknown_command' },
  { type: 'error', code: 'odd', message: 'something' },
];

const directions = [
  [
    'agent',
    upstream.map((message) => [message.type, encodeAgentFrame(message), message] as const),
    parseAgentFrame,
  ],
  [
    'control plane',
    downstream.map((message) => [message.type, encodeControlFrame(message), message] as const),
    parseControlFrame,
  ],
] as const;

describe.each(directions)('messages of the %s', (_name, messages, parse) => {
  test.each(messages)('%s survives a round trip unchanged', (_type, frame, message) => {
    expect(parse(frame)).toEqual({ kind: 'message', message });
  });

  test.each(messages)('%s ignores unknown keys', (_type, frame, message) => {
    expect(parse(JSON.stringify({ ...JSON.parse(frame), zz_new: { deep: [1] } }))).toEqual({
      kind: 'message',
      message,
    });
  });

  test.each(messages)('%s without any one of its fields never throws', (_type, frame) => {
    const whole = JSON.parse(frame) as Record<string, unknown>;
    for (const key of Object.keys(whole)) {
      const { [key]: _left, ...rest } = whole;
      expect(['message', 'malformed']).toContain(parse(JSON.stringify(rest)).kind);
      for (const odd of [null, -1, 1.5, 'x'.repeat(70_000), [], {}, true]) {
        expect(['message', 'malformed', 'unknown']).toContain(
          parse(JSON.stringify({ ...whole, [key]: odd })).kind,
        );
      }
    }
  });

  test('survives truncation at every byte', () => {
    for (const [, frame] of messages) {
      for (let end = 0; end < frame.length; end += 1)
        expect(parse(frame.slice(0, end)).kind).toBe('malformed');
    }
  });

  test('survives any bytes and any JSON', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.json().map((json) => `{"type":"heartbeat","x":${json}}`),
        ),
        (frame) => {
          expect(['message', 'unknown', 'malformed']).toContain(parse(frame).kind);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('survives a message with any one value replaced', () => {
    fc.assert(
      fc.property(fc.constantFrom(...messages), fc.nat(), fc.jsonValue(), ([, frame], pick, value) => {
        const whole = JSON.parse(frame) as Record<string, unknown>;
        const keys = Object.keys(whole);
        const key = keys[pick % keys.length] ?? 'type';
        const kind = parse(JSON.stringify({ ...whole, [key]: value })).kind;
        expect(['message', 'unknown', 'malformed']).toContain(kind);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('the message of an agent for a viewer is relayed', () => {
  const frame = (msg: string, conn = '7') =>
    `{"type":"signaling","session_id":"${B}","conn":${conn},"msg":${msg}}`;
  const candidate = `{"type":"candidate","pc_id":"${C}", "candidate":"candidate:1","mid":null}`;

  test('unchanged, spaces included', () => {
    expect(readRelayedSignal(frame(candidate))).toEqual({
      session_id: B,
      conn: 7,
      msg: { type: 'candidate', pc_id: C, candidate: 'candidate:1', mid: null },
      text: candidate,
    });
  });

  test.each([
    ['without unknown keys', `{"type":"bye","reason":"going_away","secret":1}`],
    ['without control characters', `{"type":"error","code":"x","message":"a\\u0007b","fatal":false}`],
    ['without a key that is called __proto__', `{"type":"bye","reason":"going_away","__proto__":{"a":1}}`],
  ])('%s', (_name, msg) => {
    const read = readRelayedSignal(frame(msg));
    expect(read?.text).toBe(JSON.stringify(read?.msg));
    expect(read?.text).not.toBe(msg);
  });

  test.each([
    ['a key after the message', `${frame(candidate).slice(0, -1)},"msg":{"type":"bye"}}`],
    ['another order of keys', `{"session_id":"${B}","type":"signaling","conn":1,"msg":${candidate}}`],
    ['a number with a leading zero', frame(candidate, '07')],
    ['a session that is no uuid', frame(candidate).replace(B, B.replaceAll('-', 'a'))],
    ['a message that is malformed', frame('{"type":"candidate"}')],
    ['a message of a new type', frame('{"type":"later"}')],
    ['no message', frame('null')],
  ])('%s is left to the full parser', (_name, text) => {
    expect(readRelayedSignal(text)).toBeNull();
  });

  test('with the same result as the full parser', () => {
    const signals = upstream.filter((message) => message.type === 'signaling');
    fc.assert(
      fc.property(
        fc.constantFrom(...signals),
        fc.nat(),
        fc.string({ maxLength: 3 }),
        (signal, place, noise) => {
          const whole = encodeAgentFrame(signal);
          const at = place % (whole.length + 1);
          const text = whole.slice(0, at) + noise + whole.slice(at);
          const read = readRelayedSignal(text);
          if (read === null) return;
          const parsed = parseAgentFrame(text);
          if (parsed.kind !== 'message' || parsed.message.type !== 'signaling') throw new Error(text);
          expect({ ...read, text: JSON.parse(read.text) }).toEqual({
            ...relayedSignal(parsed.message),
            text: parsed.message.msg,
          });
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe('bounds of the agent socket', () => {
  const frame = (type: string, fields: object) => JSON.stringify({ type, ...fields });
  const kindOf = (text: string) => parseAgentFrame(text).kind;

  test('closed enums refuse unknown values, open enums keep them', () => {
    const state = { seq: 1, session_id: B, ts: 1, state: 'running' };
    expect(kindOf(frame('session_state', { ...state, state: 'dancing' }))).toBe('malformed');
    expect(parseAgentFrame(frame('session_state', { ...state, failure_code: 'new_code' }))).toMatchObject({
      message: { failure_code: 'new_code' },
    });
  });

  test('an optional field is left out, never null', () => {
    expect(kindOf(frame('heartbeat', { ts: 1, running_sessions: [], cpu_load: null }))).toBe('malformed');
  });

  test('remedies beyond 16 KiB of a host are left out, its checks stay', () => {
    const remediation = Array(8).fill('x'.repeat(1024));
    const check = { id: 'gpu', status: 'fail', summary: 'x', remediation };
    const parsed = parseAgentFrame(frame('capacity', { ...upstream[1], readiness: Array(64).fill(check) }));
    const readiness =
      parsed.kind === 'message' && parsed.message.type === 'capacity' ? parsed.message.readiness : undefined;
    expect(readiness?.map((row) => row.remediation.length)).toEqual([8, 8, ...Array(62).fill(0)]);
  });

  test('a readiness remedy may be one text with one remedy per line', () => {
    const check = (remediation: unknown) =>
      frame('capacity', {
        ...upstream[1],
        readiness: [{ id: 'gpu', status: 'warn', summary: 'x', remediation }],
      });
    expect(parseAgentFrame(check('apt-get update\n\n  \nreboot\n'))).toMatchObject({
      message: { readiness: [{ remediation: ['apt-get update', 'reboot'] }] },
    });
    expect(kindOf(check(7))).toBe('malformed');
  });

  test('at most 1024 sessions, 16 GPUs with an index each', () => {
    const ids = Array.from({ length: 1025 }, () => A);
    expect(kindOf(frame('heartbeat', { ts: 1, running_sessions: ids }))).toBe('malformed');
    const gpu = upstream[1]?.type === 'capacity' ? upstream[1].gpus[0] : undefined;
    expect(kindOf(frame('capacity', { ...upstream[1], gpus: [gpu, gpu] }))).toBe('malformed');
  });

  test('metrics drop malformed keys and keep at most 96', () => {
    const metrics = (values: object) =>
      frame('session_metrics', { session_id: B, ts: 1, window_ms: 1, metrics: values });
    expect(parseAgentFrame(metrics({ fps: 1, 'Bad-Key': {}, _x: 2 }))).toMatchObject({
      message: { metrics: { fps: 1 } },
    });
    expect(kindOf(metrics({ fps: {} }))).toBe('malformed');
    expect(kindOf(metrics({ fps: 'x'.repeat(65) }))).toBe('malformed');
    expect(
      kindOf(metrics(Object.fromEntries(Array.from({ length: 97 }, (_, index) => [`k${index}`, 1])))),
    ).toBe('malformed');
    const odd = parseAgentFrame(
      `{"type":"session_metrics","session_id":"${B}","ts":1,"window_ms":1,"metrics":{"__proto__":1,"constructor":2}}`,
    );
    expect(
      odd.kind === 'message' && odd.message.type === 'session_metrics' && Object.keys(odd.message.metrics),
    ).toEqual(['constructor']);
  });

  test('an event carries 16 KiB, a diagnosis 512 KiB', () => {
    const event = (name: string, bytes: number) =>
      frame('session_trace_event', {
        session_id: B,
        ts: 1,
        event: name,
        payload: { data: 'x'.repeat(bytes) },
      });
    expect(kindOf(event('app.exited', 16_000))).toBe('message');
    expect(kindOf(event('app.exited', 17_000))).toBe('malformed');
    expect(kindOf(event('diag.log_tail', 500_000))).toBe('message');
    expect(kindOf(event('diag.log_tail', 600_000))).toBe('malformed');
  });

  test('a host cannot send a note of an administrator', () => {
    const event = { session_id: B, ts: 1, payload: { label: 'seen by the operator' } };
    const read = (fields: object) =>
      parseAgentFrame(frame('session_trace_event', { ...event, ...fields })).kind;
    expect(read({ event: 'encoder.stall' })).toBe('message');
    expect(read({ event: 'operator.annotation' })).toBe('malformed');
    expect(read({ event: 'operator.annotation', seq: 1 })).toBe('malformed');
  });

  test('a relayed message of a new type is unknown, a wrong one malformed', () => {
    const relay = (msg: unknown) => frame('signaling', { session_id: B, conn: 1, msg });
    expect(parseAgentFrame(relay({ type: 'later' }))).toEqual({ kind: 'unknown', type: 'signaling later' });
    expect(kindOf(relay({ type: 'offer' }))).toBe('malformed');
    expect(kindOf(relay(null))).toBe('malformed');
    expect(kindOf(relay({ type: 'offer', pc_id: C, sdp: 'x'.repeat(65_537), reason: 'first' }))).toBe(
      'malformed',
    );
  });

  test('a stream of odd width is malformed', () => {
    const assign = downstream.find((message) => message.type === 'session_assign');
    const odd = { ...assign, stream: { ...(assign as { stream: object }).stream, width: 1281 } };
    expect(parseControlFrame(JSON.stringify(odd))).toMatchObject({ kind: 'malformed', id: C });
  });

  test('commands are the messages with an id', () => {
    expect(downstream.filter(isCommand).map((message) => message.type)).toHaveLength(14);
  });
});

describe('bodies of the agent calls', () => {
  test('a job report takes four states and unknown keys', () => {
    expect(jobReportSchema.safeParse({ run_id: A, state: 'succeeded', new: 1 }).success).toBe(true);
    expect(jobReportSchema.safeParse({ run_id: A, state: 'aborted' }).success).toBe(false);
  });
});

describe('captures are clamped', () => {
  test.each([
    ['log_tail', {}, { lines: 200 }],
    ['log_tail', { lines: 5000 }, { lines: 1000 }],
    ['log_tail', { lines: 0 }, { lines: 1 }],
    ['log_tail', { lines: 1.5 }, { lines: 200 }],
    ['burst_stats', {}, { windows: 20, window_ms: 250 }],
    ['burst_stats', { windows: 40, window_ms: 1000 }, { windows: 10, window_ms: 1000 }],
    ['burst_stats', { windows: 0, window_ms: 10 }, { windows: 1, window_ms: 100 }],
    ['pipeline_dot', { lines: 3 }, {}],
  ] as const)('%s %j', (kind, params, expected) => {
    expect(clampCapture(kind, params, 10_000)).toEqual({ kind, ...expected });
  });

  test('a budget within the bounds of agents', () => {
    expect(clampCaptureBudget({ max_bytes: 1e9, max_ms: 1e9 })).toEqual({
      max_bytes: 262_144,
      max_ms: 30_000,
    });
    expect(clampCaptureBudget({ max_bytes: 1_000, max_ms: 10 })).toEqual({ max_bytes: 1_000, max_ms: 10 });
  });

  test('at least one window, otherwise within the budget', () => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.integer(),
        fc.integer({ min: 0, max: 60_000 }),
        (windows, window_ms, maxMs) => {
          const params = clampCapture('burst_stats', { windows, window_ms }, maxMs);
          if (params.kind !== 'burst_stats') throw new Error('burst_stats has windows');
          const total = params.windows * params.window_ms;
          expect(params.windows === 1 || total <= Math.min(maxMs, CAPTURE_MAX_MS)).toBe(true);
        },
      ),
    );
  });
});

test.each(['image_id', 'version'])(
  'an image whose %s has a NUL is malformed: Postgres stores none',
  (key) => {
    const image = { image_id: 'x', version: '1', state: 'ready', [key]: 'a\0' };
    expect(parseAgentFrame(JSON.stringify({ type: 'image_state', seq: 1, ...image })).kind).toBe('malformed');
    const register = upstream.find(({ type }) => type === 'register');
    expect(parseAgentFrame(JSON.stringify({ ...register, images: [image] })).kind).toBe('malformed');
  },
);
