// @vitest-environment happy-dom
import { CLIENT_METRIC_KEYS } from '@footlight/protocol/telemetry';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { StreamEventName, StreamListener, StreamStats, TelemetryPost } from '../types.ts';
import { MAX_KEPT, MAX_POSTED, POST_PERIOD_MS, TelemetryPosts } from './telemetry-posts.ts';

/** Advances the clock by five seconds. */
let tick: () => void;
/** Posts that the service received, and how it answers. */
let posts: { post: TelemetryPost; last: boolean; taken(): void; refused(error: unknown): void }[];
let listeners: Map<StreamEventName, (event: never) => void>;
let upload: TelemetryPosts;
const NOW = 1_795_168_860_000.5;
const KEY = 'f'.repeat(32);

const second = (ts_unix_ms: number): StreamStats => ({
  ts_unix_ms,
  metrics: { fps: 60 },
  client_health: 'smooth',
  client_health_reason: '',
  codec_mime_type: null,
  width: 1280,
  height: 720,
  loss: 0,
  path: null,
  quality: { word: 'excellent', cause: null },
  clock: null,
  delay: null,
});

function says<Name extends StreamEventName>(name: Name, event: Parameters<StreamListener<Name>>[0]): void {
  listeners.get(name)?.(event as never);
}

/** Sample times of each stats post, in order. */
const sampled = () =>
  posts.flatMap(({ post }) =>
    post.operation === 'sessions.stats' ? [post.body.samples.map(({ ts_unix_ms }) => ts_unix_ms)] : [],
  );

/** Answers a post, and runs what follows from the answer. */
async function answered(index: number, status: number): Promise<void> {
  const post = posts[index];
  if (status < 400) post?.taken();
  else post?.refused({ status });
  await new Promise((resolve) => globalThis.requestAnimationFrame(resolve));
}

beforeEach(() => {
  posts = [];
  listeners = new Map();
  const client = {
    on<Name extends StreamEventName>(name: Name, listener: StreamListener<Name>) {
      listeners.set(name, listener as (event: never) => void);
      return () => listeners.delete(name);
    },
  };
  upload = new TelemetryPosts(
    client,
    (post, last) =>
      new Promise((taken, refused) => posts.push({ post, last, taken: () => taken(undefined), refused })),
    {
      setInterval: (run, everyMs) => {
        expect(everyMs).toBe(POST_PERIOD_MS);
        tick = run;
        return {
          cancel: () => {
            tick = () => {};
          },
        };
      },
      nowUnixMs: () => NOW,
    },
    KEY,
  );
});

afterEach(() => upload.close());

describe('what a player measured', () => {
  test('waits while the network is interrupted, and is posted completely afterwards', () => {
    says('state', { kind: 'reconnecting', attempt: 0, why: 'network', next_at_ms: null });
    says('stats', second(1_000));
    tick();
    expect(posts).toEqual([]);
    says('stats', second(2_000));
    says('state', { kind: 'reconnecting', attempt: 0, why: 'signaling', next_at_ms: null });
    tick();
    expect(sampled()).toEqual([[1_000, 2_000]]);
  });

  test('is posted every five seconds, each kind with its own operation', async () => {
    says('stats', second(1_000));
    says('stats', {
      ...second(2_000),
      client_health_reason: 'late',
      codec_mime_type: 'video/H264',
      path: 'tcp',
    });
    says('trace', { ts_unix_ms: 1_500, type: 'client.visibility_changed', payload: { hidden: true } });
    says('clock', { client_offset_ms: 12, uncertainty_ms: 3 });
    expect(posts).toEqual([]);
    tick();
    expect(posts.map(({ post }) => post)).toEqual([
      {
        operation: 'sessions.stats',
        body: {
          samples: [
            { ts_unix_ms: 1_000, metrics: { fps: 60 }, client_health: 'smooth', device_key: KEY },
            {
              ts_unix_ms: 2_000,
              metrics: { fps: 60 },
              client_health: 'smooth',
              client_health_reason: 'late',
              codec_mime_type: 'video/H264',
              path: 'tcp',
              device_key: KEY,
            },
          ],
        },
      },
      {
        operation: 'sessions.traceEvents',
        body: {
          events: [{ ts_unix_ms: 1_500, type: 'client.visibility_changed', payload: { hidden: true } }],
        },
      },
      { operation: 'sessions.traceClock', body: { client_offset_ms: 12, uncertainty_ms: 3 } },
    ]);
    expect(posts.map(({ last }) => last)).toEqual([false, false, false]);
    for (const index of posts.keys()) await answered(index, 202);
    tick();
    tick();
    expect(posts).toHaveLength(3);
  });

  test('waits while the previous post is in progress, and keeps its order after a failure', async () => {
    says('stats', second(1));
    tick();
    says('stats', second(2));
    tick();
    expect(sampled()).toEqual([[1]]);
    await answered(0, 503);
    tick();
    expect(sampled()).toEqual([[1], [1, 2]]);
  });

  test('is dropped when the service refuses it', async () => {
    says('stats', second(1));
    tick();
    await answered(0, 403);
    says('stats', second(2));
    tick();
    expect(sampled()).toEqual([[1], [2]]);
  });

  test('is bounded: the newest two minutes are kept, and a post has 25 samples at most', async () => {
    says('stats', second(0));
    tick();
    for (let index = 1; index <= 300; index += 1) says('stats', second(index));
    await answered(0, 503);
    tick();
    const [, next = []] = sampled();
    expect(next).toHaveLength(MAX_POSTED);
    expect(next[0]).toBe(300 - MAX_KEPT + 1);
  });

  test('fits the 32 KiB that the service accepts, with every figure and after an interruption', async () => {
    const metrics = Object.fromEntries(CLIENT_METRIC_KEYS.map((key) => [key, 1_234_567.891]));
    const full: StreamStats = {
      ...second(1_795_168_860_000),
      metrics,
      client_health: 'backgrounded_or_hidden',
      client_health_reason: 'decoding takes 1234.5 ms a frame',
      codec_mime_type: 'video/H264',
    };
    for (let index = 0; index < MAX_KEPT; index += 1) says('stats', full);
    tick();
    expect(JSON.stringify(posts[0]?.post.body).length).toBeLessThan(32 * 1024);
  });

  test('reports once, without figures, that this browser cannot play the codec', () => {
    says('state', { kind: 'ended', reason: 'taken_over', code: null, message: null });
    says('state', { kind: 'ended', reason: 'codec_unsupported', code: '4415', message: null });
    tick();
    expect(posts.map(({ post }) => post)).toEqual([
      {
        operation: 'sessions.stats',
        body: {
          samples: [
            {
              ts_unix_ms: Math.round(NOW),
              metrics: {},
              client_health: 'client_unsupported',
              client_health_reason: 'this browser cannot play the codec',
              device_key: KEY,
            },
          ],
        },
      },
    ]);
  });

  test('is posted when the page is left, also while a post is in progress', async () => {
    says('stats', second(1));
    tick();
    says('stats', second(2));
    window.dispatchEvent(new Event('pagehide'));
    expect(sampled()).toEqual([[1], [2]]);
    expect(posts.at(-1)?.last).toBe(true);
  });

  test('close() posts the rest, and stops', async () => {
    says('stats', second(1));
    upload.close();
    expect(sampled()).toEqual([[1]]);
    expect(listeners.size).toBe(0);
    tick();
    tick();
    expect(posts).toHaveLength(1);
  });
});
