import type { Clock } from '@footlight/platform';
import type { SessionMetrics } from '@footlight/protocol/agent';
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { SessionLink } from '../sessions/reports/session-link.ts';

/**
 * Age at which a sample is dropped. A sample arrives every 5 s; after three missing samples, the session has ended or
 * its worker hangs.
 */
const MAX_AGE_MS = 15_000;
/** Largest number of sessions with separate figures; encoders serve far fewer sessions. */
const MAX_SEATS = 256;

/** Figures of each session: key in the sample → metric name, help text, and factor to the metric's unit. */
const FIGURES = {
  source_fps: ['source_fps', 'Pictures a second that the app drew.', 1],
  compositor_fps: ['captured_fps', 'Pictures a second that were captured.', 1],
  fps: ['encoded_fps', 'Pictures a second that left the encoder.', 1],
  rtp_fps: ['sent_fps', 'Pictures a second that were sent.', 1],
  encode_ms_p50: ['encode_seconds_median', 'Time in the encoder, median of the last 5 s.', 1e-3],
  encode_ms_p95: ['encode_seconds_p95', 'Time in the encoder, 95 of 100 pictures of the last 5 s.', 1e-3],
  rtp_bitrate_kbps: ['sent_bits_per_second', 'Rate of the packets that were sent.', 1_000],
  abr_setpoint_kbps: ['target_bits_per_second', 'Rate that the encoder is told to keep.', 1_000],
  gcc_estimate_kbps: ['path_bits_per_second', 'Rate that the path to the viewer can carry.', 1_000],
  rtt_ms: ['path_round_trip_seconds', 'Round trip to the viewer.', 1e-3],
  packet_loss: ['path_loss_ratio', 'Share of the packets that the path lost in a second.', 1],
} as const;
type Figure = keyof typeof FIGURES;
const KEYS = Object.keys(FIGURES) as Figure[];

/** Values read at each request of the page. */
export interface AgentFigures {
  /** Number of live sessions. */
  sessions: number;
  /** Whether the agent is connected to the control plane. */
  connected: boolean;
}

interface Seat {
  sessionId: string;
  heardAtMs: number;
  metrics: SessionMetrics['metrics'];
}

/**
 * Figures of this host for Prometheus. The label `seat` distinguishes sessions. Its value is the smallest number that
 * was free at the session's first sample. So the number of series is bounded by the number of simultaneous sessions,
 * and a label never contains a name or an id.
 */
export class AgentMetrics {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #registry = new Registry();
  readonly #seats = new Map<number, Seat>();
  readonly #sessionFigures: Record<Figure, Gauge<'seat'>>;
  readonly #encoded: Counter;
  readonly #dropped: Counter<'seat'>;
  readonly #queueDrops: Counter<'seat'>;
  readonly #sessions: Gauge;
  readonly #connected: Gauge;
  readonly contentType: string;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    const gauge = (name: string, help: string) =>
      new Gauge({ name: `footlight_agent_${name}`, help, registers });
    const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
      new Counter({ name: `footlight_agent_${name}`, help, labelNames, registers });
    this.#sessions = gauge('sessions', 'Live sessions.');
    this.#connected = gauge('connected', '1: connected to the control plane.');
    this.#encoded = counter('frames_encoded_total', 'Pictures that left the encoders.', []);
    this.#dropped = counter(
      'frames_dropped_total',
      'Pictures that did not leave the encoder within half a second.',
      ['seat'],
    );
    this.#queueDrops = counter(
      'capture_drops_total',
      'Pictures that were captured while the encoder was behind.',
      ['seat'],
    );
    this.#sessionFigures = Object.fromEntries(
      KEYS.map((key) => {
        const [name, help] = FIGURES[key];
        return [
          key,
          new Gauge({ name: `footlight_agent_session_${name}`, help, labelNames: ['seat'], registers }),
        ];
      }),
    ) as Record<Figure, Gauge<'seat'>>;
    this.contentType = this.#registry.contentType;
  }

  /** Wraps a link so that the samples sent through the link are also counted here. */
  observing(link: SessionLink): SessionLink {
    return {
      report: (message) => link.report(message),
      event: (event) => link.event(event),
      signaling: (frame) => link.signaling(frame),
      metrics: (sample) => {
        this.observe(sample);
        link.metrics(sample);
      },
    };
  }

  observe({ session_id, metrics }: Pick<SessionMetrics, 'session_id' | 'metrics'>): void {
    const heardAtMs = this.#clock.monotonicMs();
    this.#leaveOld(heardAtMs);
    const seat = this.#seatOf(session_id);
    this.#encoded.inc(count(metrics.frames_encoded));
    if (seat === null) return;
    this.#seats.set(seat, { sessionId: session_id, heardAtMs, metrics });
    this.#dropped.inc({ seat }, count(metrics.frames_dropped));
    this.#queueDrops.inc({ seat }, count(metrics.interpipe_queue_drops));
  }

  /** Returns the metrics page in the text format of Prometheus. */
  text({ sessions, connected }: AgentFigures): Promise<string> {
    this.#leaveOld(this.#clock.monotonicMs());
    this.#sessions.set(sessions);
    this.#connected.set(connected ? 1 : 0);
    for (const key of KEYS) {
      const gauge = this.#sessionFigures[key];
      gauge.reset();
      for (const [seat, { metrics }] of this.#seats) {
        const value = metrics[key];
        if (typeof value === 'number') gauge.set({ seat }, value * FIGURES[key][2]);
      }
    }
    return this.#registry.metrics();
  }

  /** @returns null: MAX_SEATS is reached */
  #seatOf(sessionId: string): number | null {
    for (const [seat, taken] of this.#seats) if (taken.sessionId === sessionId) return seat;
    let seat = 0;
    while (this.#seats.has(seat)) seat += 1;
    return seat < MAX_SEATS ? seat : null;
  }

  #leaveOld(nowMs: number): void {
    for (const [seat, { heardAtMs }] of this.#seats) {
      if (nowMs - heardAtMs <= MAX_AGE_MS) continue;
      this.#seats.delete(seat);
      // The next session on this seat starts at zero.
      this.#dropped.remove({ seat });
      this.#queueDrops.remove({ seat });
    }
  }
}

/**
 * Ignores invalid values. A counter must not decrease, and an app or viewer may have exploited the worker that sends
 * the samples.
 */
const count = (value: unknown): number => (typeof value === 'number' && value > 0 && value < 1e6 ? value : 0);
