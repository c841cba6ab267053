import type { Clock } from '@footlight/platform';
import type { Codec, EncoderFamily } from '@footlight/protocol';
import type { EncoderInfo } from '@footlight/protocol/agent';
import { withPatience } from '../../patience.ts';
import { forkEntry } from '../worker/child-entry.ts';
import { ENCODERS, type EncoderRow } from './encoders.ts';
import {
  type EncoderInspection,
  type ProbeAnswer,
  type ProbeRequest,
  probeAnswer,
} from './probe-messages.ts';

/**
 * The time of 90 frames at 9 frames a second; a slower encoder cannot be used for streaming. If a driver hangs, it
 * delays the agent's start by this time.
 */
const PROBE_LIMIT_MS = withPatience(10_000);

/** A GPU of the hardware probe. */
export interface ProbeGpu {
  index: number;
  vendor: 'amd' | 'intel' | 'nvidia' | 'software' | 'other';
  render_node: string | null;
}

export interface EncoderProbeResult {
  /** One entry for each GPU and each row of ENCODERS that lists the GPU's vendor. */
  encoders: EncoderInfo[];
  /**
   * Megapixels per second of working encoders, measured one at a time on 90 frames of 1280×720, by family. A codec that
   * is missing here was not measured.
   */
  throughput: Partial<Record<EncoderFamily, Partial<Record<Codec, { max_pixel_rate_mpix_s: number }>>>>;
}

export interface EncoderProbeOptions {
  clock: Clock;
  /** Current host settings; a missing setting has its default. */
  settings?: Record<string, unknown>;
  /** Additional environment variables of the probe processes, for example GST_REGISTRY. */
  env?: Record<string, string>;
  /** Time limit of each test and measurement, in milliseconds. Tests raise it for slow software encoders. */
  limitMs?: number;
}

/**
 * Tests which encoders of this host work, by encoding 30 frames, and measures the working ones.
 *
 * Each test and measurement runs in its own process with a limit of 10 s, because a driver that hangs or crashes must
 * affect only its own row. Never rejects: a process that fails, crashes or takes too long gives `available: false` and
 * a reason.
 */
export async function probeEncoders(
  gpus: readonly ProbeGpu[],
  options: EncoderProbeOptions,
): Promise<EncoderProbeResult> {
  const encoders: EncoderInfo[] = [];
  const throughput: EncoderProbeResult['throughput'] = {};
  // Tested one after the other, because concurrent encoders would distort the measurements.
  for (const gpu of gpus) {
    for (const row of ENCODERS) {
      if (!row.vendors.includes(gpu.vendor)) continue;
      const { family, codec } = row;
      const target = { family, codec, render_node: gpu.render_node, settings: options.settings ?? {} };
      const proof = await runProbe({ kind: 'prove', ...target }, options);
      const info: EncoderInfo = {
        family,
        gpu_index: gpu.index,
        codec,
        available: proof.ok,
        live_bitrate: row.elements.every(({ rate }) => rate.live),
        live_resize: row.liveResize,
        ...(proof.max_width === undefined ? {} : { max_width: proof.max_width }),
        ...(proof.max_height === undefined ? {} : { max_height: proof.max_height }),
      };
      if (!proof.ok) info.reason = proof.why.slice(0, 256);
      if (codec === 'h264') info.h264_profiles = [...row.h264Profiles];
      encoders.push(info);
      if (!proof.ok || throughput[family]?.[codec]) continue;
      const measured = await runProbe({ kind: 'measure', ...target }, options);
      if (!measured.ok || measured.mpix_s === undefined) continue;
      throughput[family] = { ...throughput[family], [codec]: { max_pixel_rate_mpix_s: measured.mpix_s } };
    }
  }
  return { encoders, throughput };
}

/**
 * Finds the elements and properties of the table in this host's GStreamer, without encoding.
 * @param gpu GPU of the elements; null: the first GPU
 * @returns the result of each row, in table order; if a look-up failed, its reason
 */
export async function inspectEncoders(
  gpu: ProbeGpu | null,
  options: EncoderProbeOptions,
): Promise<{ row: EncoderRow; inspection: EncoderInspection | string }[]> {
  const found: { row: EncoderRow; inspection: EncoderInspection | string }[] = [];
  for (const row of ENCODERS) {
    const { family, codec } = row;
    const answer = await runProbe(
      {
        kind: 'inspect',
        family,
        codec,
        render_node: gpu?.render_node ?? null,
        settings: options.settings ?? {},
      },
      options,
    );
    found.push({ row, inspection: answer.inspection ?? answer.why });
  }
  return found;
}

function runProbe(request: ProbeRequest, options: EncoderProbeOptions): Promise<ProbeAnswer> {
  const { clock, limitMs = PROBE_LIMIT_MS } = options;
  return new Promise((resolve) => {
    const { child, channel } = forkEntry(
      'probe-main',
      {
        onMessage: (raw) => {
          const answer = probeAnswer.safeParse(raw);
          if (!answer.success) return settle({ ok: false, why: 'the probe process gave no readable answer' });
          settle(answer.data);
        },
        onBroken: (why) => settle({ ok: false, why: `probe process: ${why}` }),
        onClosed: () => undefined,
      },
      { clock, ...(options.env ? { env: options.env } : {}) },
    );
    let settled = false;
    const settle = (outcome: ProbeAnswer) => {
      if (settled) return;
      settled = true;
      timer.cancel();
      child.kill('SIGKILL');
      resolve(outcome);
    };
    const timer = clock.setTimeout(
      () => settle({ ok: false, why: `no answer within ${limitMs} ms` }),
      limitMs,
    );
    child.once('error', (error) => settle({ ok: false, why: `probe process: ${error.message}` }));
    // Not `exit`, which can come before the answer has been read.
    child.once('close', (code, signal) =>
      settle({ ok: false, why: `the probe process ended with ${signal ?? `code ${code}`}` }),
    );
    channel?.send(request);
  });
}
