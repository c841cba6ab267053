import { type Clock, errorText, type Logger, within } from '@footlight/platform';
import type { EncoderFamily } from '@footlight/protocol';
import type { EncoderInfo } from '@footlight/protocol/agent';
import type { AgentJob } from '../../jobs/agent-jobs.ts';
import type { MediaWorker, MediaWorkerPool } from '../worker/worker-pool.ts';
import { planWarmUp, type WarmUpTarget } from './warm-up-plan.ts';

/** Time limit for the frames of one worker. It is enough even for the first use of a driver. Chosen, not measured. */
const ENCODE_MS = 10_000;
/** Time limit for a worker's exit after its channel was closed. The exit takes at most two seconds. */
const EXIT_MS = 2_500;

/** Current facts about the host that the warm-up needs. */
export interface WarmUpHost {
  /** Number of installed catalog images. */
  images: number;
  /** Number of live sessions. */
  sessions: number;
  encoderFamily: EncoderFamily;
  encoders: readonly EncoderInfo[];
  renderNode(gpuIndex: number): string | null;
  settings: Record<string, unknown>;
}

/**
 * The job template.warmup: starts and stops a media worker for each installed image, one after the other, and each
 * worker encodes a few frames with the encoder that the host's sessions use. The worker that is kept warm for the next
 * session is not used.
 *
 * While a session is live, the run is deferred. The job owns its workers: each worker has ended before the next one
 * starts, and before the run ends.
 * @param deps workers: a pool that keeps no worker ready
 */
export function createEncoderWarmUp(deps: {
  workers: Pick<MediaWorkerPool, 'acquire'>;
  clock: Clock;
  logger: Logger;
  host(): WarmUpHost;
}): AgentJob {
  const { workers, clock, logger, host } = deps;

  /** @throws when the worker does not start, or cannot encode */
  async function warm(target: WarmUpTarget, signal: AbortSignal): Promise<void> {
    const worker = await workers.acquire();
    const kill = () => worker.kill();
    signal.addEventListener('abort', kill, { once: true });
    if (signal.aborted) kill();
    try {
      await worker.warm;
      const why = await encode(worker, target);
      if (why !== null) throw new Error(why);
    } finally {
      signal.removeEventListener('abort', kill);
      worker.disconnect();
      await within(clock, EXIT_MS, worker.exited, undefined);
      worker.kill();
      await worker.exited;
    }
  }

  /** @returns null: the worker can encode; otherwise the reason */
  function encode(worker: MediaWorker, { gpuIndex, codec }: WarmUpTarget): Promise<string | null> {
    const { encoderFamily, renderNode, settings } = host();
    const answered = new Promise<string | null>((resolve) => {
      worker.on('encoder_warm', ({ error }) => resolve(error));
      void worker.exited.then(() => resolve('the media worker ended'));
    });
    const encoder = { family: encoderFamily, gpu_index: gpuIndex, render_node: renderNode(gpuIndex) };
    worker.send({ type: 'warm_encoder', codec, encoder, settings });
    return within(clock, ENCODE_MS, answered, `no answer within ${ENCODE_MS} ms`);
  }

  return {
    async run({ signal }) {
      const { images, encoderFamily, encoders } = host();
      const counts = { images, workers: 0, failed: 0 };
      const targets = planWarmUp(images, encoderFamily, encoders);
      if (images === 0) return { state: 'skipped', summary: { reason: 'no image is installed', ...counts } };
      if (targets.length === 0) throw new Error(`no encoder of ${encoderFamily} works on this host`);
      let why = '';
      for (const target of targets) {
        if (host().sessions > 0)
          return { state: 'deferred', summary: { reason: 'live sessions', ...counts } };
        signal.throwIfAborted();
        try {
          await warm(target, signal);
          counts.workers += 1;
        } catch (error) {
          signal.throwIfAborted();
          why = errorText(error);
          counts.failed += 1;
          logger.warn({ gpu: target.gpuIndex, codec: target.codec, error: why }, 'warm_up.failed');
        }
      }
      if (counts.workers === 0) throw new Error(why);
      return { state: 'succeeded', summary: counts };
    },
  };
}
