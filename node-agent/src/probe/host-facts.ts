import type { Clock } from '@footlight/platform';
import type { StorageReport } from '@footlight/protocol/agent';
import si from 'systeminformation';
import { storageOf } from './storage-report.ts';

/**
 * Time for which results are cached. Cores, memory and disks change rarely, and the agent compares the storage once a
 * minute.
 */
const KEPT_MS = 60_000;
const MIB = 1024 * 1024;

export interface HostFacts {
  cpuCores: number;
  memMb: number;
  cpuModel: string;
  storage: StorageReport[];
}

/** CPU, memory and disks of this host. The results are cached for a minute, because some queries start a process. */
export class HostFactsProbe {
  readonly #clock: Clock;
  #kept: { facts: HostFacts; atMs: number } | null = null;
  #pending: Promise<HostFacts> | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async read(): Promise<HostFacts> {
    if (this.#kept && this.#clock.monotonicMs() - this.#kept.atMs < KEPT_MS) return this.#kept.facts;
    this.#pending ??= this.#read().finally(() => {
      this.#pending = null;
    });
    return this.#pending;
  }

  async #read(): Promise<HostFacts> {
    const [cpu, memory, disks] = await Promise.all([si.cpu(), si.mem(), si.fsSize()]);
    const facts: HostFacts = {
      cpuCores: cpu.cores,
      memMb: Math.floor(memory.total / MIB),
      cpuModel: [cpu.manufacturer, cpu.brand]
        .filter((part) => part !== '')
        .join(' ')
        .trim(),
      storage: storageOf(disks),
    };
    this.#kept = { facts, atMs: this.#clock.monotonicMs() };
    return facts;
  }
}
