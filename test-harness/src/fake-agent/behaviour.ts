import type {
  Capacity,
  ControlCommand,
  HeldSession,
  NackCode,
  SessionState,
} from '@footlight/protocol/agent';

/** What the agent answers to a command: accepted, refused with a code, or nothing at all. */
export type Answer = 'ok' | 'silence' | { code: NackCode | (string & {}); error?: string };

/** One report of a session on its way up, `afterMs` after the one before. */
export interface LaunchStep {
  state: SessionState['state'];
  detail?: string;
  afterMs?: number;
}

/** How an agent misbehaves, or does not. Every knob may be turned while it runs. */
export interface Behaviour {
  /** Default: everything is accepted. */
  answer: (command: ControlCommand) => Answer;
  /** Milliseconds between a command and its ack. */
  ackDelayMs: number;
  /** What a started session reports. Default: the way to running with a presented app. */
  launch: readonly LaunchStep[];
  /** How a change of app comes out; null: nothing is ever said about it. */
  swap: 'complete' | { rolled_back: string } | null;
  /** Sends every report twice. */
  duplicate: boolean;
  /** Holds each report back until the next one, and sends them in reverse. */
  reorder: boolean;
  /** Reports are made and kept, but not sent: as if the link swallowed them. */
  swallow: boolean;
  /** Answers no command, sends no heartbeat, though the socket is open: as if the process were stopped. */
  frozen: boolean;
  /** What register claims to hold. Default: the truth. */
  claim: (truth: readonly HeldSession[]) => HeldSession[];
}

export const honest: Behaviour = {
  answer: () => 'ok',
  ackDelayMs: 0,
  launch: [
    { state: 'starting', detail: 'starting display' },
    { state: 'starting', detail: 'starting app' },
    { state: 'starting', detail: 'starting encoder' },
    { state: 'running', detail: 'app booting' },
    { state: 'running', detail: 'app presented' },
  ],
  swap: 'complete',
  duplicate: false,
  reorder: false,
  swallow: false,
  frozen: false,
  claim: (truth) => [...truth],
};

/**
 * A host without a GPU that encodes in software.
 * @param gpu what its one row of the table of GPUs says otherwise
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

/** A host with NVIDIA cards. @param cards number of GPUs */
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

/** The same beside a connector that a display is plugged into, or is not. */
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
