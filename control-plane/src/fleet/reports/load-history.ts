import type { Heartbeat } from '@footlight/protocol/agent';
import type { HostLoadSample } from '@footlight/protocol/rest';
import type { SampledGpu } from './heartbeat-buffer.ts';
import { plausibleVram } from './vram.ts';

/** Five minutes with a heartbeat every 5 s. */
const MAX_SAMPLES = 60;
/**
 * Number of complete minutes before these samples. These minutes, the incomplete minute and the five minutes above make
 * one hour. With 100 bytes a sample, the samples of 10,000 hosts take 120 MB.
 */
const MAX_MINUTES = 54;
const MINUTE_MS = 60_000;
/** Time, CPU, free memory, received, sent, sessions. */
const HOST_FIGURES = 6;
/** Number, encoder, video memory. */
const GPU_FIGURES = 3;

/**
 * The load of a host in the last hour, oldest first: each sample of the last five minutes, before that a mean for each
 * minute. A sample is a list of numbers to save memory, because a fleet has many samples. NaN: not measured. Owner: the
 * memory of the host.
 */
export class LoadHistory {
  readonly #minutes: number[][] = [];
  /** Samples that are older than five minutes, of a minute that is not complete yet. */
  #minute: number[][] = [];
  readonly #rows: number[][] = [];

  /**
   * @param gpus the host's reported GPUs; figures of other GPUs are dropped
   * @param nowMs time when the heartbeat arrived, epoch ms
   */
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
    if (this.#rows.length <= MAX_SAMPLES) return;
    const oldest = this.#rows.shift() ?? [];
    if (this.#minute.length >= MAX_SAMPLES || minuteOf(this.#minute[0]) !== minuteOf(oldest))
      this.#endMinute();
    this.#minute.push(oldest);
  }

  #endMinute(): void {
    this.#minutes.push(...meanOf(this.#minute));
    if (this.#minutes.length > MAX_MINUTES) this.#minutes.shift();
    this.#minute = [];
  }

  samples(): HostLoadSample[] {
    return [...this.#minutes, ...meanOf(this.#minute), ...this.#rows].map((row) => {
      const gpus: HostLoadSample['gpus'] = [];
      for (let at = HOST_FIGURES; at < row.length; at += GPU_FIGURES)
        gpus.push({
          gpu_index: row[at] ?? 0,
          encoder_busy: measured(row[at + 1]),
          vram_mb_used: rounded(row[at + 2]),
        });
      const [ts = 0, cpu, memory, received, sent, sessions = 0] = row;
      return {
        ts_unix_ms: Math.round(ts),
        cpu_busy: measured(cpu),
        mem_free_mb: rounded(memory),
        net_rx_kbps: rounded(received),
        net_tx_kbps: rounded(sent),
        sessions: Math.round(sessions),
        gpus,
      };
    });
  }
}

const measured = (figure: number | undefined): number | null =>
  figure === undefined || Number.isNaN(figure) ? null : figure;

const rounded = (figure: number | undefined): number | null => {
  const known = measured(figure);
  return known === null ? null : Math.round(known);
};

const minuteOf = (row: readonly number[] | undefined): number => Math.floor((row?.[0] ?? 0) / MINUTE_MS);

/**
 * One sample with the means of the measured figures; none without samples. If the host's GPUs have changed, the samples
 * of the former GPUs do not count.
 */
function meanOf(rows: readonly number[][]): number[][] {
  const newest = rows.at(-1);
  if (newest === undefined) return [];
  const indexes = gpuIndexes(newest);
  const alike = rows.filter((row) => gpuIndexes(row) === indexes);
  return [
    newest.map((_, column) => {
      const figures = alike.map((row) => row[column] ?? Number.NaN).filter((figure) => !Number.isNaN(figure));
      return figures.reduce((sum, figure) => sum + figure, 0) / figures.length;
    }),
  ];
}

const gpuIndexes = (row: readonly number[]): string =>
  row.filter((_, at) => at >= HOST_FIGURES && (at - HOST_FIGURES) % GPU_FIGURES === 0).join();
