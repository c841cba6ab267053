import type { FailureCode, Open, RefusalCode } from '@footlight/protocol';
import type {
  Capacity,
  ControlCommand,
  HeldSession,
  ImageState,
  PreflightAnswer,
  SessionAssign,
  SessionMetrics,
  SessionState,
} from '@footlight/protocol/agent';

/** Agent's answer to a command: accepted, refused with a code, or no answer. */
export type Answer = 'ok' | 'silence' | { code: Open<RefusalCode>; error?: string };

/** Report of a starting session, `afterMs` milliseconds after the previous report. */
export interface LaunchStep {
  state: SessionState['state'];
  detail?: string;
  /** Code and sentence of a failure. */
  failure_code?: FailureCode;
  error?: string;
  afterMs?: number;
}

/** Report about a requested image, `afterMs` milliseconds after the previous report. */
export type PullStep = Pick<ImageState, 'state' | 'progress_pct' | 'bytes' | 'error'> & { afterMs?: number };

/** Faults of a fake agent. Tests may change every field while the agent runs. */
export interface Behaviour {
  /**
   * Default: refuses a command that needs a session if the agent does not have this session, and accepts every other
   * command.
   * @param holdsSession whether the agent has the command's session, and the session is not ending
   */
  answer: (command: ControlCommand, holdsSession: boolean) => Answer;
  /** Milliseconds between a command and its ack. */
  ackDelayMs: number;
  /** Reports after a session start. Default: all states up to running, with a presented app. */
  launch: readonly LaunchStep[];
  /** Result of a change of app; null: the agent reports no result. */
  swap: 'complete' | { rolled_back: string } | null;
  /** Result of an accepted capture; null: the agent reports no result. */
  capture: 'result' | { error: string } | null;
  /** Answer to an accepted connection test. No connection follows. */
  preflight: PreflightAnswer;
  /** Reports after an accepted image. Default: one report for half of the image, and one for the whole image. */
  pull: readonly PullStep[];
  /**
   * Sample of a measurement for each second that its session runs; null: the agent sends no samples. Default:
   * `modelEncoder(400)`.
   */
  bench: BenchSamples;
  /** Sends every report twice. */
  duplicate: boolean;
  /** Delays each report until the next one and sends both in reverse order. */
  reorder: boolean;
  /** Numbers and stores reports without sending them, as if the link had lost them. */
  swallow: boolean;
  /** Answers no command and sends no heartbeat on the open socket, as a stopped process does. */
  frozen: boolean;
  /** Breaks the link or crashes this long after each registration; null: the agent stays connected. */
  leaves: { afterMs: number; how: 'drop' | 'crash' } | null;
  /** Sessions that `register` reports. Default: the actual sessions. */
  claim: (truth: readonly HeldSession[]) => HeldSession[];
}

/**
 * @param second number of the second since the session started to run, from 1
 * @param atOnce measurements that run on this host at the same time
 */
export type BenchSamples = (
  cell: SessionAssign,
  second: number,
  atOnce: number,
) => SessionMetrics['metrics'] | null;

/** Number of the second from which a measurement reports that its bitrate was changed while the encoder ran. */
const FIRST_WRITE_S = 10;
/** Bitrate at which a frame takes twice as long to encode, kbit/s. */
const DOUBLES_AT_KBPS = 40_000;

/**
 * An encoder that divides its speed among its sessions and is slower at higher bitrates. It drops the frames that are
 * late, so the frame rate falls when the encode time rises.
 * @param mpixelS megapixels a second at a low bitrate
 */
export function modelEncoder(mpixelS: number): BenchSamples {
  return ({ stream }, second, atOnce) => {
    const { width, height, bitrate_kbps } = stream;
    const ms = ((width * height) / 1e3 / mpixelS) * atOnce * (1 + bitrate_kbps / DOUBLES_AT_KBPS);
    const fps = Math.min(stream.fps, 1000 / ms);
    return {
      encode_ms: ms,
      encode_ms_p50: ms,
      encode_ms_p95: ms * 1.1,
      encode_ms_max: ms * 1.2,
      fps,
      frames_encoded: Math.round(fps),
      frames_dropped: 0,
      bitrate_kbps,
      abr_mode: 'off',
      ...(second >= FIRST_WRITE_S && { live_write_stable: true }),
    };
  };
}

/** Commands that a real agent refuses without their session; it accepts an assignment, a stop and a recording. */
const NEEDS_SESSION: ReadonlySet<ControlCommand['type']> = new Set([
  'session_start',
  'session_swap_app',
  'session_display_update',
  'session_tune',
  'session_capture',
]);

export const honest: Behaviour = {
  answer: ({ type }, holdsSession) =>
    holdsSession || !NEEDS_SESSION.has(type)
      ? 'ok'
      : { code: 'no_such_session', error: 'this host does not hold the session' },
  ackDelayMs: 0,
  launch: [
    { state: 'starting', detail: 'starting display' },
    { state: 'starting', detail: 'starting app' },
    { state: 'starting', detail: 'starting encoder' },
    { state: 'running', detail: 'app booting' },
    { state: 'running', detail: 'app presented' },
  ],
  swap: 'complete',
  capture: 'result',
  preflight: {
    answer: 'v=0\r\n',
    media_ports: { first: 50_000, last: 50_255, configured: true },
    fallback_port: 8444,
  },
  pull: [
    { state: 'pulling', progress_pct: 50 },
    { state: 'ready', bytes: 1_000_000 },
  ],
  bench: modelEncoder(400),
  duplicate: false,
  reorder: false,
  swallow: false,
  frozen: false,
  leaves: null,
  claim: (truth) => [...truth],
};

/**
 * Capacity of a host without a GPU that encodes in software.
 * @param gpu overrides of the only GPU row
 */
export function softwareCapacity(
  overrides: Partial<Capacity> = {},
  gpu: Partial<Capacity['gpus'][number]> = {},
): Capacity {
  return {
    type: 'capacity',
    detection: 'ok',
    host: {
      cpu_cores: 8,
      mem_mb: 16_384,
      cpu_model: 'Fake CPU',
      storage: [{ label: 'root', path: '/', total_mb: 100_000, available_mb: 60_000 }],
    },
    gpus: [
      {
        index: 0,
        vendor: 'software',
        model: 'Fake CPU',
        vram_mb_total: 0,
        encode_slots_total: 4,
        render_node: null,
        ...gpu,
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
    codec_throughput: { h264: { max_pixel_rate_mpix_s: 400 } },
    effective_settings: { encoder: 'openh264', home_root: '/var/lib/service-agent/homes' },
    readiness: [],
    ...overrides,
  };
}

/** Capacity of a host with NVIDIA cards. @param cards number of GPUs */
export function gpuCapacity(cards = 1, overrides: Partial<Capacity> = {}): Capacity {
  return softwareCapacity({
    gpus: Array.from({ length: cards }, (_, index) => ({
      index,
      vendor: 'nvidia' as const,
      model: 'Fake RTX',
      vram_mb_total: 24_576,
      encode_slots_total: 8,
      render_node: `/dev/dri/by-path/pci-0000:0${index}:00.0-render`,
    })),
    codecs: ['h264', 'h265'],
    encoders: Array.from({ length: cards }, (_, index) => ({
      family: 'nvenc' as const,
      gpu_index: index,
      codec: 'h264' as const,
      available: true,
      live_bitrate: true,
      live_resize: true,
    })),
    ...overrides,
  });
}

/** Capacity of a host without a GPU and with a display connector. @param connected a display is plugged in */
export function displayCapacity(connected: boolean): Capacity {
  const output = { id: 'card1:DP-4', card: 'card1', render_node: null, connector: 'DP-4' };
  return softwareCapacity({
    console_capabilities: {
      connectors: ['DP-4'],
      outputs: [{ ...output, connected, active_mode: null, modes: [] }],
      audio_sinks: [],
      input_devices: [],
    },
  });
}
