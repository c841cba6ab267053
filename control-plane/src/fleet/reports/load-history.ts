import type { Heartbeat } from '@footlight/protocol/agent';
import type { HostLoadSample } from '@footlight/protocol/rest';
import type { SampledGpu } from './heartbeat-buffer.ts';
import { plausibleVram } from './vram.ts';

/** Five minutes of a heartbeat each 5 s: what a page shows. At 100 bytes each, 10,000 hosts take 60 MB. */
const MAX_SAMPLES = 60;
/** Time, CPU, free memory, received, sent, sessions. */
const HOST_FIGURES = 6;
/** Number, encoder, video memory. */
const GPU_FIGURES = 3;

/**
 * The load that a host reported in the last minutes, oldest first. Each sample is a list of numbers, NaN where nothing
 * was measured, because a fleet has many. Owner: the memory of the host.
 */
export class LoadHistory {
  readonly #rows: number[][] = [];

  /** @param gpus the host's reported GPUs; figures of others are dropped @param nowMs when it came, ms since 1970 */
  add(heartbeat: Heartbeat, gpus: readonly SampledGpu[], nowMs: number): void {
    const row = [
      nowMs,
      heartbeat.cpu_busy ?? Number.NaN,
      heartbeat.mem_free_mb === undefined ? Number.NaN : Math.max(0, heartbeat.mem_free_mb),
      heartbeat.net?.rx_kbps ?? Number.NaN,
      heartbeat.net?.tx_kbps ?? Number.NaN,
      heartbeat.running_sessions.length,
    ];
    for (const { index, vramMbTotal } of gpus) {
      const load = heartbeat.encoder_load?.find((each) => each.gpu_index === index)?.load;
      const vram = heartbeat.gpu_vram?.find((each) => each.index === index);
      const used = vram === undefined ? null : plausibleVram(vram, vramMbTotal).used;
      row.push(index, load ?? Number.NaN, used ?? Number.NaN);
    }
    this.#rows.push(row);
    if (this.#rows.length > MAX_SAMPLES) this.#rows.shift();
  }

  samples(): HostLoadSample[] {
    return this.#rows.map((row) => {
      const gpus: HostLoadSample['gpus'] = [];
      for (let at = HOST_FIGURES; at < row.length; at += GPU_FIGURES)
        gpus.push({
          gpu_index: row[at] ?? 0,
          encoder_busy: measured(row[at + 1]),
          vram_mb_used: measured(row[at + 2]),
        });
      const [ts = 0, cpu, memory, received, sent, sessions = 0] = row;
      return {
        ts_unix_ms: ts,
        cpu_busy: measured(cpu),
        mem_free_mb: measured(memory),
        net_rx_kbps: measured(received),
        net_tx_kbps: measured(sent),
        sessions,
        gpus,
      };
    });
  }
}

const measured = (figure: number | undefined): number | null =>
  figure === undefined || Number.isNaN(figure) ? null : figure;
