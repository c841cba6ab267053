import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { floors, grows } from '../trend.ts';

/** Resources of one process. */
export interface Holdings {
  readonly descriptors: number;
  readonly sockets: number;
  readonly threads: number;
  /** Resident memory in MiB. */
  readonly memoryMib: number;
}

export function holdingsOf(pid: number): Holdings {
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return '';
    }
  });
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  return {
    descriptors: links.length,
    sockets: links.filter((link) => link.startsWith('socket:')).length,
    threads: field('Threads'),
    memoryMib: field('VmRSS') / 1024,
  };
}

/** Counts after one cycle of work, by name. */
export type Counts = Readonly<Record<string, number>>;

/** Cycles per memory sample. Memory changes between collections, so the sample is the minimum of these cycles. */
const MEMORY_CYCLES = 4;
/** Tolerated growth per cycle: the heap of a warm process still grows for a while. */
const MEMORY_MIB_PER_CYCLE = 0.1;

export const isMemory = (name: string): boolean => name.startsWith('memory');

/** Series that grow from cycle to cycle. A name that starts with `memory` is a series in MiB. */
export function leaks(cycles: readonly Counts[]): Record<string, number[]> {
  const names = Object.keys(cycles[0] ?? {});
  const series = names.map((name): [string, number[]] => [name, cycles.map((counts) => counts[name] ?? 0)]);
  return Object.fromEntries(
    series.filter(([name, samples]) =>
      isMemory(name)
        ? grows(floors(samples, MEMORY_CYCLES), MEMORY_CYCLES * MEMORY_MIB_PER_CYCLE)
        : grows(samples),
    ),
  );
}
