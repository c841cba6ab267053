import type { Timer } from '@footlight/platform/timer';
import type { ClientSample } from '@footlight/protocol/rest';
import { Cleanup } from '../environment.ts';
import type {
  ClockRecord,
  Environment,
  SendTelemetry,
  StreamClient,
  StreamStats,
  TelemetryPost,
  TraceEvent,
} from '../types.ts';

/**
 * Period of the posts. The service allows one post in 2 s for each operation. The first post comes so late that it does
 * not delay a launch.
 */
export const POST_PERIOD_MS = 5_000;
/** The service accepts 64 items and 32 KiB in a post; a sample with every figure has up to 1.2 KB. */
export const MAX_POSTED = 25;
/** Largest number of unanswered samples that are kept: two minutes. The oldest are dropped first. */
export const MAX_KEPT = 120;

/**
 * Posts the player's measurements: samples, events and its clock, every five seconds. Sends one request per operation
 * at a time.
 *
 * Runs from its construction to close(), which posts the rest. Owner: the player. Failures do not affect the player: a
 * refused post is dropped, a failed post is repeated, and the queues of samples and events have limits.
 */
export class TelemetryPosts {
  readonly #send: SendTelemetry;
  readonly #cleanup = new Cleanup();
  readonly #inFlight = new Set<TelemetryPost['operation']>();
  /**
   * no posts are sent now, because they would hang on an interrupted path and occupy connections that the reconnect
   * needs
   */
  #waits = false;
  #samples: ClientSample[] = [];
  #events: TraceEvent[] = [];
  #clock: ClockRecord | null = null;

  constructor(
    client: Pick<StreamClient, 'on'>,
    send: SendTelemetry,
    time: Pick<Environment, 'setInterval' | 'nowUnixMs'>,
    deviceKey: string | undefined,
  ) {
    this.#send = send;
    const measuredBy = deviceKey === undefined ? {} : { device_key: deviceKey };
    this.#cleanup.add(
      client.on('stats', (stats) => keep(this.#samples, [{ ...sampleOf(stats), ...measuredBy }])),
    );
    this.#cleanup.add(
      client.on('state', (state) => {
        this.#waits = state.kind === 'reconnecting' && state.why === 'network';
        if (state.kind !== 'ended' || state.reason !== 'codec_unsupported') return;
        keep(this.#samples, [{ ...unsupportedAt(time.nowUnixMs()), ...measuredBy }]);
      }),
    );
    this.#cleanup.add(client.on('trace', (event) => keep(this.#events, [event])));
    this.#cleanup.add(
      client.on('clock', (record) => {
        this.#clock = record;
      }),
    );
    const timer: Timer = time.setInterval(() => this.#post(false), POST_PERIOD_MS);
    this.#cleanup.timer(timer);
    // No close() here, because a page that returns from the back/forward cache continues to post.
    this.#cleanup.listen(window, 'pagehide', () => this.#post(true));
  }

  /** Posts the remaining items and stops. */
  close(): void {
    this.#cleanup.run();
    this.#post(true);
  }

  #post(last: boolean): void {
    if (this.#waits && !last) return;
    const samples = this.#take('sessions.stats', this.#samples, last);
    if (samples.length > 0)
      this.#sendOne({ operation: 'sessions.stats', body: { samples } }, last, () =>
        keep(this.#samples, samples, true),
      );
    const events = this.#take('sessions.traceEvents', this.#events, last);
    if (events.length > 0)
      this.#sendOne({ operation: 'sessions.traceEvents', body: { events } }, last, () =>
        keep(this.#events, events, true),
      );
    const clock = this.#clock;
    if (clock === null || (this.#inFlight.has('sessions.traceClock') && !last)) return;
    this.#clock = null;
    this.#sendOne({ operation: 'sessions.traceClock', body: clock }, last, () => {
      this.#clock ??= clock;
    });
  }

  /** Posts the oldest items of a queue, unless a post of that operation is in progress. */
  #take<T>(operation: TelemetryPost['operation'], queue: T[], last: boolean): T[] {
    return this.#inFlight.has(operation) && !last ? [] : queue.splice(0, MAX_POSTED);
  }

  #sendOne(post: TelemetryPost, last: boolean, putBack: () => void): void {
    this.#inFlight.add(post.operation);
    void this.#send(post, last)
      .catch((error: unknown) => {
        if (!isFinal(error)) putBack();
      })
      .finally(() => this.#inFlight.delete(post.operation));
  }
}

/** Whether the service would refuse a retry too; 429 is retried. */
function isFinal(error: unknown): boolean {
  const { status } = error as { status?: unknown };
  return typeof status === 'number' && status >= 400 && status < 500 && status !== 429;
}

/** @param first the items failed before, so they are older than the items in the queue */
function keep<T>(queue: T[], items: readonly T[], first = false): void {
  if (first) queue.unshift(...items);
  else queue.push(...items);
  queue.splice(0, queue.length - MAX_KEPT);
}

function sampleOf({
  ts_unix_ms,
  metrics,
  client_health,
  client_health_reason: reason,
  codec_mime_type: codec,
  path,
}: StreamStats): ClientSample {
  return {
    ts_unix_ms: Math.round(ts_unix_ms),
    metrics,
    client_health,
    ...(reason === '' ? {} : { client_health_reason: reason }),
    ...(codec === null ? {} : { codec_mime_type: codec }),
    ...(path === null ? {} : { path }),
  };
}

/** The sample of a stream that ended before its first picture, which has no measurements. */
function unsupportedAt(nowUnixMs: number): ClientSample {
  return {
    ts_unix_ms: Math.round(nowUnixMs),
    metrics: {},
    client_health: 'client_unsupported',
    client_health_reason: 'this browser cannot play the codec',
  };
}
