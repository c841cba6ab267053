import { type Clock, errorText, type Logger, type Random, type Timer } from '@footlight/platform';
import { backoffMs } from '@footlight/protocol';
import { BACKOFF_RESET_MS } from '@footlight/protocol/agent';
import { type EntryProcess, forkEntry } from '../worker/child-entry.ts';
import { type FallbackOrder, fallbackReport } from './fallback-messages.ts';
import { loopbackOf } from './offered-candidates.ts';
import { MAX_REGISTRATIONS, type Registration } from './registrations.ts';

/** Heap limit of the process in MiB; queued packets are not in the heap. Chosen, not measured. */
const HEAP_MIB = 128;

export interface MediaFallbackOptions {
  clock: Clock;
  logger: Logger;
  random: Pick<Random, 'number'>;
  port: number;
  /** Addresses on which the port is open; null: all addresses. */
  addresses: readonly string[] | null;
}

/**
 * The fallback port of media: runs the process that serves it, and tells it the WebRTC connections that browsers may
 * reach through the port.
 *
 * stopped → running → stopped; a process that ends is started again with back-off and gets all registrations. Owner:
 * the agent.
 */
export class MediaFallback {
  readonly port: number;
  readonly #options: MediaFallbackOptions;
  readonly #registrations = new Map<string, Registration>();
  #process: EntryProcess | null = null;
  #restart: Timer | null = null;
  #attempt = 0;
  #problemLogged = false;
  #closed = false;

  constructor(options: MediaFallbackOptions) {
    this.#options = options;
    this.port = options.port;
  }

  /** Process id; undefined: the process does not run. */
  get pid(): number | undefined {
    return this.#process?.child.pid;
  }

  start(): void {
    const { clock, logger, port, addresses } = this.#options;
    this.#restart = null;
    const startedMs = clock.monotonicMs();
    const started = forkEntry(
      'fallback-main',
      {
        onMessage: (raw) => this.#hear(raw),
        onBroken: (why) => logger.warn({ why }, 'media.fallback_failed'),
        onClosed: () => started.child.kill('SIGKILL'),
      },
      {
        clock,
        env: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` },
        within: ['setpriv', '--no-new-privs', '--pdeathsig', 'KILL', '--'],
        onOutput: (line) => logger.debug({ line: errorText(line) }, 'media.fallback_output'),
      },
    );
    this.#process = started;
    const { child } = started;
    child.once('error', (error) => this.#ended(startedMs, errorText(error)));
    child.once('exit', (code, signal) => this.#ended(startedMs, `it ended with ${signal ?? `code ${code}`}`));
    this.#send({ type: 'listen', port, addresses: addresses === null ? null : [...addresses] });
    for (const registration of this.#registrations.values())
      this.#send({ type: 'register', ...registration });
  }

  /**
   * Lets browsers reach a WebRTC connection of this host through the port.
   * @returns a function that withdraws the registration; null: refused, because the fragment is taken or there are too
   * many connections
   */
  register(connection: Omit<Registration, 'address'>): (() => void) | null {
    const { ufrag } = connection;
    if (this.#registrations.has(ufrag) || this.#registrations.size >= MAX_REGISTRATIONS) return null;
    const registration = { ...connection, address: loopbackOf(this.#options.addresses) };
    this.#registrations.set(ufrag, registration);
    this.#send({ type: 'register', ...registration });
    return () => {
      if (this.#registrations.get(ufrag) !== registration) return;
      this.#registrations.delete(ufrag);
      this.#send({ type: 'unregister', ufrag });
    };
  }

  close(): void {
    this.#closed = true;
    this.#restart?.cancel();
    this.#process?.channel?.close();
    this.#process?.child.kill('SIGKILL');
  }

  #send(order: FallbackOrder): void {
    this.#process?.channel?.send(order);
  }

  #hear(raw: unknown): void {
    const { logger, port } = this.#options;
    const report = fallbackReport.safeParse(raw);
    if (!report.success) return;
    if (report.data.type === 'listening') {
      this.#problemLogged = false;
      logger.info({ port }, 'media.fallback_listening');
    } else if (!this.#problemLogged) {
      this.#problemLogged = true;
      const remedy = 'Set SERVICE_MEDIA_FALLBACK_PORT to a free port, or to 0 for no fallback port.';
      logger.warn({ port, why: report.data.why, remedy }, 'media.fallback_port_unusable');
    }
  }

  #ended(startedMs: number, why: string): void {
    const { clock, logger, random } = this.#options;
    if (this.#closed || this.#restart !== null) return;
    if (clock.monotonicMs() - startedMs >= BACKOFF_RESET_MS) this.#attempt = 0;
    const delayMs = backoffMs(this.#attempt, random.number());
    this.#attempt += 1;
    logger.warn({ why, retry_ms: Math.round(delayMs) }, 'media.fallback_failed');
    this.#restart = clock.setTimeout(() => this.start(), delayMs);
  }
}
