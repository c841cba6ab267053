import type { Clock } from '@footlight/platform';
import type { Preflight } from '@footlight/protocol/agent';
import { MAX_HOST_PREFLIGHTS, PREFLIGHT_LIMIT_MS } from '@footlight/protocol/preflight';
import type { CommandAnswer } from '../link/ack-store.ts';
import type { MediaFallback } from '../media/fallback/media-fallback.ts';
import { forkEntry } from '../media/worker/child-entry.ts';
import { withPatience } from '../patience.ts';
import { mediaPorts } from '../readiness/firewall.ts';
import { type PreflightOrder, type PreflightOutcome, preflightOutcome } from './preflight-messages.ts';

/** Time limit of the answer, below the control plane's limit for the ack. */
const ANSWER_MS = withPatience(8_000);

export interface PreflightsOptions {
  clock: Clock;
  addresses: readonly string[] | null;
  ports: readonly [number, number] | null;
  /** null: this host has no fallback port. */
  fallback: Pick<MediaFallback, 'port' | 'register'> | null;
  /** Limit of a whole test in milliseconds; default PREFLIGHT_LIMIT_MS. */
  limitMs?: number;
}

/**
 * The connection tests of this host. Each test runs in its own process, as a browser may crash or exploit the WebRTC
 * library.
 *
 * A test ends when its connection ends, after PREFLIGHT_LIMIT_MS, or with close(). At most MAX_HOST_PREFLIGHTS run at
 * the same time. Owner: the agent.
 */
export class Preflights {
  readonly #options: PreflightsOptions;
  /** Functions that end the running tests. */
  readonly #running = new Set<() => void>();

  constructor(options: PreflightsOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#running.size;
  }

  /** Starts a test. @returns the host's answer to the offer, or a refusal; never rejects */
  async run({ path, offer, ice_servers }: Preflight): Promise<CommandAnswer> {
    const { addresses, ports, fallback } = this.#options;
    const [first, last] = mediaPorts(ports);
    const fallback_port = fallback?.port ?? null;
    const own = { media_ports: { first, last, configured: ports !== null }, fallback_port };
    if (path === 'tcp' && fallback === null) return { ok: true, preflight: { ...own, answer: null } };
    if (this.#running.size >= MAX_HOST_PREFLIGHTS) {
      return { ok: false, code: 'busy', error: `${MAX_HOST_PREFLIGHTS} tests are running` };
    }
    const outcome = await this.#start({
      ...{ path, offer, ice_servers },
      addresses: addresses && [...addresses],
      ports: ports && [...ports],
      fallback_port,
    });
    if (outcome.type === 'failed') return { ok: false, code: 'internal', error: outcome.why };
    if (outcome.type === 'refused') return { ok: false, code: 'invalid', error: outcome.why };
    return { ok: true, preflight: { ...own, answer: outcome.sdp } };
  }

  /** Ends all tests. */
  close(): void {
    for (const end of [...this.#running]) end();
  }

  #start(order: PreflightOrder): Promise<PreflightOutcome | { type: 'failed'; why: string }> {
    const { clock, fallback, limitMs = PREFLIGHT_LIMIT_MS } = this.#options;
    let withdraw: (() => void) | null = null;
    return new Promise((resolve) => {
      const { child, channel } = forkEntry(
        'preflight-main',
        {
          onMessage: (raw) => {
            const outcome = preflightOutcome.safeParse(raw);
            if (!outcome.success) {
              end('the test process gave no readable answer');
              return;
            }
            answer.cancel();
            const connection = outcome.data.type === 'answer' ? outcome.data.connection : null;
            // The process is not trusted, so it may register one connection only.
            if (connection !== null && this.#running.has(stop))
              withdraw ??= fallback?.register(connection) ?? null;
            resolve(outcome.data);
          },
          onBroken: (why) => end(`the test process sent ${why}`),
          onClosed: () => undefined,
        },
        { clock },
      );
      // Resolving again has no effect.
      const end = (why: string) => {
        this.#running.delete(stop);
        answer.cancel();
        limit.cancel();
        withdraw?.();
        child.kill('SIGKILL');
        resolve({ type: 'failed', why });
      };
      const stop = () => end('the agent is stopping');
      const answer = clock.setTimeout(() => end(`no answer within ${ANSWER_MS} ms`), ANSWER_MS);
      const limit = clock.setTimeout(() => end('the test took too long'), limitMs);
      this.#running.add(stop);
      child.once('error', (error) => end(`the test process: ${error.message}`));
      // Not `exit`, which can come before the answer has been read.
      child.once('close', (code, signal) => end(`the test process ended with ${signal ?? `code ${code}`}`));
      channel?.send(order);
    });
  }
}
