import { XMLParser } from 'fast-xml-parser';
import { runProgram } from '../runtime/programs/run-program.ts';

/**
 * Time limit of nvidia-smi. The first call after a boot may load the driver, but a hanging driver must not block the
 * agent's start. Chosen, not measured.
 */
const LIMIT_MS = 5_000;
/** Longest output, chosen with a large margin: `nvidia-smi -q -x` writes tens of kilobytes per GPU. */
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

/** One GPU that the driver lists. A value that the driver does not report is null instead of zero. */
export interface NvidiaGpu {
  model: string;
  /** PCI address in the form of /dev/dri/by-path: "0000:01:00.0". */
  pci: string | null;
  vramTotalMb: number | null;
  vramUsedMb: number | null;
  vramFreeMb: number | null;
  /** Busy share of the encoder block, 0 to 1. */
  encoderLoad: number | null;
}

const parser = new XMLParser({
  // Values stay texts: "N/A" must not become a number, and a bus id must not be read as an octal number.
  parseTagValue: false,
  ignoreAttributes: true,
  isArray: (name) => name === 'gpu' || name === 'process_info',
  processEntities: false,
});

/**
 * Reads the output of `nvidia-smi -q -x`.
 * @throws when the text is not that output
 */
export function parseNvidiaSmi(xml: string): NvidiaGpu[] {
  const log = field(parser.parse(xml), 'nvidia_smi_log');
  if (log === undefined) throw new Error('nvidia-smi gave no nvidia_smi_log');
  const gpus = field(log, 'gpu');
  if (gpus === undefined) return [];
  if (!Array.isArray(gpus)) throw new Error('nvidia-smi gave an unreadable list of GPUs');
  return gpus.map((gpu: unknown) => ({
    model: text(field(gpu, 'product_name')) ?? 'NVIDIA GPU',
    pci: pciAddress(text(field(field(gpu, 'pci'), 'pci_bus_id'))),
    vramTotalMb: quantity(field(field(gpu, 'fb_memory_usage'), 'total'), 'MiB'),
    vramUsedMb: quantity(field(field(gpu, 'fb_memory_usage'), 'used'), 'MiB'),
    vramFreeMb: quantity(field(field(gpu, 'fb_memory_usage'), 'free'), 'MiB'),
    encoderLoad: share(quantity(field(field(gpu, 'utilization'), 'encoder_util'), '%')),
  }));
}

/**
 * Queries the driver.
 * @returns [] when this host has no nvidia-smi
 * @throws when nvidia-smi fails, or writes no readable output within 5 s
 */
export async function queryNvidia(): Promise<NvidiaGpu[]> {
  const answer = await runProgram('nvidia-smi', ['-q', '-x'], {
    limitMs: LIMIT_MS,
    maxBytes: MAX_OUTPUT_BYTES,
  });
  if (answer.kind === 'ok') return parseNvidiaSmi(answer.stdout);
  // EACCES also means that the program was not found: this user cannot read a directory of PATH.
  if (answer.kind === 'not_started' && ['ENOENT', 'EACCES'].includes(answer.code)) return [];
  throw new Error(answer.why);
}

function field(node: unknown, name: string): unknown {
  if (typeof node !== 'object' || node === null || !Object.hasOwn(node, name)) return undefined;
  return (node as Record<string, unknown>)[name];
}

/** Returns null for a value that the driver marks as unknown. */
function text(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const trimmed = value.trim();
  return trimmed === '' || /^\[?(N\/A|Not Supported|Unknown Error|GPU is lost.*)\]?$/i.test(trimmed)
    ? null
    : trimmed;
}

function quantity(value: unknown, unit: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*(\S+)$/.exec(text(value) ?? '');
  return match && match[2] === unit ? Number(match[1]) : null;
}

function share(percent: number | null): number | null {
  return percent === null ? null : Math.min(1, percent / 100);
}

/** Converts a bus id to the form of sysfs and /dev/dri: "00000000:01:00.0" → "0000:01:00.0". */
function pciAddress(busId: string | null): string | null {
  const match = /^[0-9A-Fa-f]*([0-9A-Fa-f]{4}):([0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])$/.exec(busId ?? '');
  return match ? `${match[1]}:${match[2]}`.toLowerCase() : null;
}
