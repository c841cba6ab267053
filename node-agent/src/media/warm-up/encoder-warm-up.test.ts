import { silentLogger } from '@footlight/platform';
import { ManualClock } from '@footlight/platform/testing';
import type { EncoderInfo } from '@footlight/protocol/agent';
import { describe, expect, test } from 'vitest';
import type { ParentMessage } from '../worker/worker-messages.ts';
import type { MediaWorker } from '../worker/worker-pool.ts';
import { createEncoderWarmUp, type WarmUpHost } from './encoder-warm-up.ts';

const H264 = { family: 'va', gpu_index: 0, codec: 'h264', available: true } as EncoderInfo;
const HOST: WarmUpHost = {
  ...{ images: 2, sessions: 0, encoderFamily: 'va', encoders: [H264], settings: { gop: 30 } },
  renderNode: (gpuIndex) => `/dev/dri/renderD${128 + gpuIndex}`,
};

/**
 * Fake workers that answer with these errors in order. 'silent': the worker does not answer. 'dies': the worker exits.
 */
class FakeWorkers {
  readonly asked: ParentMessage[] = [];
  running = 0;
  most = 0;
  readonly answers: (string | null)[];

  constructor(answers: (string | null)[]) {
    this.answers = answers;
  }

  acquire = async (): Promise<MediaWorker> => {
    this.running += 1;
    this.most = Math.max(this.most, this.running);
    let exit: () => void = () => undefined;
    const exited = new Promise<{ code: number; signal: null }>((resolve) => {
      exit = () => resolve({ code: 0, signal: null });
    });
    void exited.then(() => {
      this.running -= 1;
    });
    let hear: (message: { type: 'encoder_warm'; error: string | null }) => void = () => undefined;
    return {
      pid: 1,
      warm: Promise.resolve(),
      recording: null,
      send: (message: ParentMessage) => {
        this.asked.push(message);
        const answer = this.answers.shift() ?? null;
        if (answer === 'dies') exit();
        else if (answer !== 'silent') hear({ type: 'encoder_warm', error: answer });
      },
      on: (_type: string, listener: typeof hear) => {
        hear = listener;
        return () => undefined;
      },
      openIpcNamespace: () => null,
      exited,
      disconnect: () => exit(),
      kill: () => exit(),
    } as unknown as MediaWorker;
  };
}

function open(answers: (string | null)[] = [], more: Partial<WarmUpHost> = {}) {
  const clock = new ManualClock();
  const workers = new FakeWorkers(answers);
  const host = { ...HOST, ...more };
  const abort = new AbortController();
  const job = createEncoderWarmUp({ workers, clock, logger: silentLogger(), host: () => host });
  return { clock, workers, host, abort, run: () => job.run({ params: {}, signal: abort.signal }) };
}

describe('the warm-up of encoders', () => {
  test('starts and stops one worker for each image, one after the other, with the encoder of the host', async () => {
    const { run, workers } = open();
    expect(await run()).toEqual({ state: 'succeeded', summary: { images: 2, workers: 2, failed: 0 } });
    const encoder = { family: 'va', gpu_index: 0, render_node: '/dev/dri/renderD128' };
    const asked = { type: 'warm_encoder', codec: 'h264', encoder, settings: { gop: 30 } };
    expect(workers.asked).toEqual([asked, asked]);
    expect([workers.running, workers.most]).toEqual([0, 1]);
  });

  test('is deferred while sessions live, even if one begins in between', async () => {
    const before = open([], { sessions: 1 });
    expect(await before.run()).toMatchObject({ state: 'deferred', summary: { reason: 'live sessions' } });
    expect(before.workers.asked).toEqual([]);
    const between = open();
    const { acquire } = between.workers;
    between.workers.acquire = () => {
      between.host.sessions = 1;
      return acquire();
    };
    expect(await between.run()).toMatchObject({ state: 'deferred', summary: { workers: 1 } });
  });

  test('is skipped without images', async () => {
    expect(await open([], { images: 0 }).run()).toEqual({
      state: 'skipped',
      summary: { reason: 'no image is installed', images: 0, workers: 0, failed: 0 },
    });
  });

  test('counts failures, and fails if no encoder worked', async () => {
    expect(await open(['no such device']).run()).toEqual({
      state: 'succeeded',
      summary: { images: 2, workers: 1, failed: 1 },
    });
    await expect(open(['no such device', 'dies']).run()).rejects.toThrow('the media worker ended');
    await expect(open([], { encoders: [] }).run()).rejects.toThrow('no encoder of va works');
  });

  test('ends a worker that does not answer', async () => {
    const { clock, run, workers } = open(['silent'], { images: 1 });
    const ended = run().catch((error: Error) => error.message);
    await expect.poll(() => workers.asked.length).toBe(1);
    await clock.pass(10_000);
    expect(await ended).toContain('no answer within 10000 ms');
    expect(workers.running).toBe(0);
  });

  test('ends its worker when it is aborted', async () => {
    const { abort, run, workers } = open(['silent']);
    const ended = run().catch((error: Error) => error.message);
    await expect.poll(() => workers.asked.length).toBe(1);
    abort.abort(new Error('the agent stops'));
    expect(await ended).toBe('the agent stops');
    expect([workers.running, workers.asked.length]).toEqual([0, 1]);
  });
});
