import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { errorText } from '@footlight/platform';
import type { Gpu } from '@footlight/protocol/agent';
import { type NvidiaGpu, queryNvidia } from './nvidia.ts';
import { queryVainfo, type VaInfo } from './vainfo.ts';

/** A GPU whose encoders were not tested yet. */
export interface FoundGpu {
  index: number;
  vendor: Gpu['vendor'];
  model: string;
  /** 0: the size is unknown. */
  vramTotalMb: number;
  /** Path in /dev/dri/by-path, which is stable over reboots; null: software encoding. */
  renderNode: string | null;
  /** The GPU's entry in the list of the NVIDIA driver; null: another vendor. */
  nvidia: NvidiaGpu | null;
  /** null: VA-API was not queried or did not answer. */
  va: VaInfo | null;
}

export interface GpuProbe {
  detection: 'ok' | 'failed';
  /** Why the probe failed, in one sentence; null in the other states. */
  reason: string | null;
  gpus: FoundGpu[];
}

const VENDORS: Record<string, Gpu['vendor']> = { '0x1002': 'amd', '0x8086': 'intel', '0x10de': 'nvidia' };
const BY_PATH = '/dev/dri/by-path';
/** Largest number of `gpus` in a capacity report (protocol, `capacity`). */
const MAX_GPUS = 16;

/** A card of /dev/dri. */
interface RenderNode {
  /** PCI address, for example "0000:01:00.0". */
  pci: string;
  path: string;
  vendor: Gpu['vendor'];
  vramTotalMb: number;
}

/**
 * Finds the GPUs of this host: first the GPUs of the NVIDIA driver, then other render nodes.
 *
 * For a host without a GPU, the list has one entry for its CPU, which encodes in software.
 * @param cpuModel name of the CPU for this entry
 */
export async function probeGpus(cpuModel: string): Promise<GpuProbe> {
  const nodes = renderNodes();
  let nvidia: NvidiaGpu[] = [];
  let problem: string | null = null;
  try {
    nvidia = await queryNvidia();
  } catch (error) {
    problem = `nvidia-smi failed: ${errorText(error, 200)}`;
  }
  const found: Omit<FoundGpu, 'index'>[] = nvidia.map((gpu) => ({
    vendor: 'nvidia',
    model: gpu.model,
    vramTotalMb: gpu.vramTotalMb ?? 0,
    renderNode: nodes.find(({ pci }) => pci === gpu.pci)?.path ?? null,
    nvidia: gpu,
    va: null,
  }));
  for (const node of nodes) {
    // An NVIDIA card that the driver does not list cannot be used.
    if (node.vendor === 'nvidia') continue;
    const va = await queryVainfo(node.path);
    found.push({
      vendor: node.vendor,
      model: va?.driver ?? `${node.vendor} GPU`,
      vramTotalMb: node.vramTotalMb,
      renderNode: node.path,
      nvidia: null,
      va,
    });
  }
  if (found.length === 0 && problem !== null) return { detection: 'failed', reason: problem, gpus: [] };
  if (found.length === 0) found.push(softwareGpu(cpuModel));
  return {
    detection: 'ok',
    reason: problem,
    gpus: found.slice(0, MAX_GPUS).map((gpu, index) => ({ index, ...gpu })),
  };
}

/** The entry of a host without a GPU. */
export function softwareGpu(cpuModel: string): Omit<FoundGpu, 'index'> {
  return {
    vendor: 'software',
    model: cpuModel === '' ? 'CPU' : cpuModel,
    vramTotalMb: 0,
    renderNode: null,
    nvidia: null,
    va: null,
  };
}

function renderNodes(): RenderNode[] {
  try {
    return readdirSync(BY_PATH)
      .filter((name) => /^pci-.*-render$/.test(name))
      .sort()
      .map((name) => {
        const pci = name.slice('pci-'.length, -'-render'.length);
        const device = join('/sys/class/drm', basename(readlinkSync(join(BY_PATH, name))), 'device');
        const vramBytes = Number(readText(join(device, 'mem_info_vram_total')) ?? 0);
        return {
          pci,
          path: join(BY_PATH, name),
          vendor: VENDORS[readText(join(device, 'vendor')) ?? ''] ?? 'other',
          vramTotalMb: Math.floor(vramBytes / (1024 * 1024)),
        };
      });
  } catch {
    return [];
  }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}
