import { type Clock, maskJson, plainText, within } from '@footlight/platform';
import type { JsonObject } from '@footlight/protocol';
import type { CaptureMade, CaptureRequest } from '../../media/worker/capture-messages.ts';
import type { MediaWorker } from '../../media/worker/worker-pool.ts';
import type { Captured } from './capture-result.ts';
import { withoutFolders } from './log-tail.ts';

/**
 * Captures of a session's media worker. The worker is not trusted, so an answer that does not belong to the current
 * request is ignored.
 */
export class WorkerCaptures {
  readonly #worker: Pick<MediaWorker, 'on' | 'send' | 'exited'>;
  readonly #clock: Clock;
  /** Number of requests sent to the worker. */
  #requests = 0;

  constructor(worker: Pick<MediaWorker, 'on' | 'send' | 'exited'>, clock: Clock) {
    this.#worker = worker;
    this.#clock = clock;
  }

  /** @throws when the worker reports a failure, ends, or does not answer within the limit */
  async make(order: CaptureRequest, limitMs: number): Promise<Exclude<CaptureMade, { kind: 'failed' }>> {
    this.#requests += 1;
    const request = this.#requests;
    let off: () => void = () => undefined;
    const answered = new Promise<CaptureMade>((resolve) => {
      off = this.#worker.on('capture_done', (answer) => answer.request === request && resolve(answer.made));
    });
    const gone = this.#worker.exited.then(
      (): CaptureMade => ({ kind: 'failed', error: 'the media worker ended' }),
    );
    this.#worker.send({ type: 'capture', request, order });
    const late: CaptureMade = {
      kind: 'failed',
      error: `the media worker did not answer within ${limitMs} ms`,
    };
    const made = await within(this.#clock, limitMs, Promise.race([answered, gone]), late).finally(off);
    if (made.kind === 'failed') throw new Error(made.error);
    if (made.kind !== order.kind) throw new Error('the media worker answered something else');
    return made;
  }
}

/**
 * Sanitizes a worker's capture before it leaves the host. A viewer may have exploited the worker, so its texts are not
 * trusted.
 */
export function capturedByWorker(
  made: Exclude<CaptureMade, { kind: 'failed' }>,
  scratchDir: string,
): Captured {
  switch (made.kind) {
    case 'pipeline_dot':
      return {
        // Only folders are removed: masking would also hide the names of elements, whose addresses look like random
        // secrets.
        text: withoutFolders(plainText(made.graph), scratchDir),
        contentType: 'text/vnd.graphviz',
        keeps: 'first',
      };
    case 'encoder_props':
      return { json: maskJson(made.props) as JsonObject, trailing: null };
    case 'burst_stats':
      return { json: { window_ms: made.window_ms, windows: made.windows }, trailing: 'windows' };
  }
}
