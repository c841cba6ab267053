/**
 * Decides which GPUs a launch may use, and why the others are refused. Pure: the function receives facts and the time,
 * and returns ordered candidates, and refusals with their numbers. Source: docs/sessions.md, "Where it runs".
 */

import { SECOND_MS } from '@footlight/platform';
import type { EncoderFamily } from '@footlight/protocol';
import type { PlacementRefusal } from '@footlight/protocol/rest';
import type { HostImage, RequiredImage } from '../../images/index.ts';
import type { Refusal } from '../launch/refusal.ts';

/** Host facts that a placement needs, without GPUs. */
export interface HostFacts {
  host_id: string;
  node_name: string;
  status: 'online' | 'offline' | 'draining';
  capacity_detection: 'ok' | 'unavailable' | 'failed';
  features: readonly string[];
  /** Encoder family that the host uses; null: not set, which means openh264. */
  encoder: string | null;
  /** Current setting of the render node: a device path selects the GPU; "" and "software" do not. */
  render_node: string | null;
  /** Directory of homes on the host; null: not reported yet. */
  home_root: string | null;
  /** States of the catalog images that launches of this batch need, by id; a missing image is absent. */
  images: ReadonlyMap<string, HostImage>;
}

export interface GpuFacts {
  host: HostFacts;
  gpu_id: string;
  gpu_index: number;
  vendor: string;
  render_node: string | null;
  reported: boolean;
  slots_total: number;
  slots_used: number;
  /** Number of sessions that reserve slots on this GPU. */
  active_sessions: number;
  /** Number of these sessions that started too late to be included in the VRAM sample. */
  in_flight: number;
  vram_mb_total: number;
  /** null: unknown; it must not be treated as zero. */
  vram_mb_free: number | null;
  /** Time of the sample on the control plane's clock, epoch ms. */
  vram_sampled_at: number | null;
}

/** Requirements of a launch for a host. */
export interface Demand {
  encode_slots: number;
  runtime: 'process' | 'container';
  /** The launch needs a managed home below the host's home root. */
  needs_home_root: boolean;
  /** The launch opens the home over a base. */
  needs_home_base: boolean;
  /** The only host or GPU that may serve the launch; null: any. There is no fallback to another host. */
  pin: Pin | null;
  /** GPUs of this host come first (placement policy locality); null: no preference. */
  prefer_host_id: string | null;
  /** The catalog image that a host must have; null: the launch needs none, or hosts fetch it on demand. */
  image: RequiredImage | null;
  /** Skips the live-VRAM veto: a console starts even if other sessions use the VRAM. */
  skip_vram_veto: boolean;
  /** Encoder family of a measurement; null: the encoder that the host uses. */
  encoder: EncoderFamily | null;
  /** Hosts that are stored as online, but to which no command can be delivered. */
  unreachable: ReadonlySet<string>;
}

export interface Pin {
  host_id: string;
  /** null: any GPU of that host. */
  gpu_index: number | null;
}

export interface PlacementSettings {
  /** Minimum free VRAM in MB below which a launch is vetoed; 0: no veto. */
  vramMinFreeMb: number;
  /** Assumed video memory of each session that is not in the sample yet, MB. */
  vramInflightEstimateMb: number;
  vramStalenessSecs: number;
}

export interface PlacementDecision<Gpu extends GpuFacts = GpuFacts> {
  /** Candidates in the order in which they are tried. */
  candidates: Gpu[];
  refusals: PlacementRefusal[];
  /** Whether at least one GPU could serve this launch if it were idle. */
  could_ever: boolean;
  /** Whether the launch needs a container and no host runs containers. false in a fleet without hosts. */
  needs_containers: boolean;
  /** Whether a host could serve the launch as soon as it has the image. */
  awaits_image: boolean;
}

/** Agent feature that each runtime needs. */
export const FEATURE_OF: Readonly<Record<Demand['runtime'], string>> = {
  process: 'process_runtime',
  container: 'images',
};

/** Feature of agents that open a home over a base. */
export const HOME_BASE_FEATURE = 'home_base';

type Broken = Pick<PlacementRefusal, 'rule' | 'have' | 'need'>;

/**
 * The rules from `online` to `image`: whether this GPU could ever serve the launch.
 * @returns the first broken rule, or null
 */
function refusesForGood(gpu: GpuFacts, demand: Demand): Broken | null {
  const { host } = gpu;
  const hostRule = refusesHost(host);
  if (hostRule !== null) return hostRule;
  if (demand.unreachable.has(host.host_id)) return { rule: 'online', have: 'out of reach', need: 'online' };
  if (!gpu.reported) return { rule: 'capacity_detection', have: 'GPU not reported', need: 'reported' };
  if (demand.needs_home_root && (host.home_root === null || host.home_root === ''))
    return { rule: 'capacity_detection', have: 'no home root reported', need: 'home_root' };
  const feature = FEATURE_OF[demand.runtime];
  if (!host.features.includes(feature)) return { rule: 'runtime', have: `no ${feature}`, need: feature };
  if (demand.needs_home_base && !host.features.includes(HOME_BASE_FEATURE))
    return { rule: 'runtime', have: `no ${HOME_BASE_FEATURE}`, need: HOME_BASE_FEATURE };
  return (
    refusesEncoder(gpu, demand.encoder) ??
    refusesPin(gpu, demand.pin) ??
    refusesImage(host.images, demand.image)
  );
}

function refusesHost(host: Pick<HostFacts, 'status' | 'capacity_detection'>): Broken | null {
  if (host.status !== 'online') return { rule: 'online', have: host.status, need: 'online' };
  if (host.capacity_detection !== 'ok')
    return { rule: 'capacity_detection', have: host.capacity_detection, need: 'ok' };
  return null;
}

/** Rule `encoder_binding`: whether the encoder can use this GPU. @param wanted null: the encoder that the host uses */
function refusesEncoder(gpu: GpuFacts, wanted: EncoderFamily | null): Broken | null {
  const { render_node } = gpu.host;
  const encoder = wanted ?? gpu.host.encoder;
  if (encoder === 'va' && gpu.vendor !== 'amd' && gpu.vendor !== 'intel')
    return { rule: 'encoder_binding', have: gpu.vendor, need: 'va: amd or intel' };
  if (encoder === 'nvenc' && gpu.vendor !== 'nvidia')
    return { rule: 'encoder_binding', have: gpu.vendor, need: 'nvenc: nvidia' };
  if (encoder === 'vulkan' && gpu.gpu_index !== 0)
    return { rule: 'encoder_binding', have: gpu.gpu_index, need: 'vulkan: gpu_index 0' };
  if (render_node?.startsWith('/') && render_node !== gpu.render_node)
    return { rule: 'encoder_binding', have: gpu.render_node, need: render_node };
  return null;
}

/** Rule `pin`. */
function refusesPin(gpu: GpuFacts, pin: Pin | null): Broken | null {
  if (pin === null) return null;
  if (pin.host_id !== gpu.host.host_id) return { rule: 'pin', have: gpu.host.host_id, need: pin.host_id };
  if (pin.gpu_index !== null && pin.gpu_index !== gpu.gpu_index)
    return { rule: 'pin', have: gpu.gpu_index, need: pin.gpu_index };
  return null;
}

/** Rule `image`. A host that does not report the image's version is accepted. */
function refusesImage(images: HostFacts['images'], required: RequiredImage | null): Broken | null {
  if (required === null) return null;
  const { state, version } = images.get(required.image_id) ?? { state: 'absent', version: null };
  if (state !== 'ready') return { rule: 'image', have: state, need: 'ready' };
  if (version !== null && version !== required.version)
    return { rule: 'image', have: version, need: required.version };
  return null;
}

/** Free VRAM of a GPU if its sample is fresh, otherwise null. */
export function freshVramFree(
  gpu: Pick<GpuFacts, 'vram_mb_free' | 'vram_sampled_at'>,
  settings: PlacementSettings,
  nowMs: number,
): number | null {
  if (gpu.vram_mb_free === null || gpu.vram_sampled_at === null) return null;
  return nowMs - gpu.vram_sampled_at > settings.vramStalenessSecs * SECOND_MS ? null : gpu.vram_mb_free;
}

/**
 * Live-VRAM veto for one GPU.
 * @returns null (no veto) without a fresh sample, or when the card is smaller than the floor; only the encode slots
 *   then decide
 */
export function vramVeto(
  gpu: Pick<GpuFacts, 'vram_mb_total' | 'vram_mb_free' | 'vram_sampled_at' | 'in_flight'>,
  settings: PlacementSettings,
  nowMs: number,
): { have: number; need: number } | null {
  const floor = settings.vramMinFreeMb;
  if (floor === 0 || gpu.vram_mb_total <= floor) return null;
  const free = freshVramFree(gpu, settings, nowMs);
  if (free === null) return null;
  const left = free - settings.vramInflightEstimateMb * gpu.in_flight;
  return left < floor ? { have: left, need: floor } : null;
}

/** The rules `slots` and `vram`, whose result depends on the current load. */
export function refusesForNow(
  gpu: GpuFacts,
  demand: Demand,
  settings: PlacementSettings,
  nowMs: number,
): Broken | null {
  const free = gpu.slots_total - gpu.slots_used;
  if (free < demand.encode_slots) return { rule: 'slots', have: free, need: demand.encode_slots };
  const veto = demand.skip_vram_veto ? null : vramVeto(gpu, settings, nowMs);
  return veto === null ? null : { rule: 'vram', ...veto };
}

/**
 * Judges every GPU of the fleet for one launch.
 * @param gpus GPUs with their hosts; GPUs that are missing in the newest report may be included
 * @param nowMs epoch ms, compared with the stored sample times
 */
export function decidePlacement<Gpu extends GpuFacts>(
  gpus: readonly Gpu[],
  demand: Demand,
  settings: PlacementSettings,
  nowMs: number,
): PlacementDecision<Gpu> {
  const candidates: Gpu[] = [];
  const refusals: PlacementRefusal[] = [];
  let could_ever = false;
  for (const gpu of gpus) {
    const base = { host_id: gpu.host.host_id, node_name: gpu.host.node_name, gpu_id: gpu.gpu_id };
    const never = refusesForGood(gpu, demand);
    if (never !== null) {
      refusals.push({ ...base, ...never });
      continue;
    }
    if (gpu.slots_total >= demand.encode_slots) could_ever = true;
    const now = refusesForNow(gpu, demand, settings, nowMs);
    if (now === null) candidates.push(gpu);
    else refusals.push({ ...base, ...now });
  }
  candidates.sort(byPlacement(demand, settings, nowMs));
  const needs_containers =
    demand.runtime === 'container' &&
    gpus.length > 0 &&
    gpus.every(({ host }) => !host.features.includes(FEATURE_OF.container));
  const awaits_image = refusals.some(({ rule }) => rule === 'image');
  return { candidates, refusals, could_ever, needs_containers, awaits_image };
}

/** Refusal of a host without a stored GPU. */
export function refuseBareHost(
  host: Pick<HostFacts, 'host_id' | 'node_name' | 'status' | 'capacity_detection'>,
): PlacementRefusal {
  const broken = refusesHost(host) ?? { rule: 'capacity_detection', have: 'no GPU', need: 'reported' };
  return { host_id: host.host_id, node_name: host.node_name, gpu_id: null, ...broken };
}

/**
 * The order in which a launch tries GPUs, most important term first: `decidePlacement` and the query of `loadGpus`
 * both sort by this list. preferred is 1 on the preferred host, fresh_vram is -1 without a fresh sample, and gpu_id
 * makes the order of equal GPUs stable.
 */
export const PLACEMENT_ORDER = [
  ['preferred', 'desc'],
  ['free_slots', 'desc'],
  ['fresh_vram', 'desc'],
  ['active_sessions', 'asc'],
  ['gpu_id', 'asc'],
] as const;
export type OrderTerm = (typeof PLACEMENT_ORDER)[number][0];

function byPlacement(demand: Demand, settings: PlacementSettings, nowMs: number) {
  const terms: Readonly<Record<OrderTerm, (gpu: GpuFacts) => number | string>> = {
    preferred: (gpu) => (gpu.host.host_id === demand.prefer_host_id ? 1 : 0),
    free_slots: (gpu) => gpu.slots_total - gpu.slots_used,
    fresh_vram: (gpu) => freshVramFree(gpu, settings, nowMs) ?? -1,
    active_sessions: (gpu) => gpu.active_sessions,
    gpu_id: (gpu) => gpu.gpu_id,
  };
  return (a: GpuFacts, b: GpuFacts): number => {
    for (const [term, direction] of PLACEMENT_ORDER) {
      const left = terms[term](a);
      const right = terms[term](b);
      if (left !== right) return left < right === (direction === 'asc') ? -1 : 1;
    }
    return 0;
  };
}

/** The refusal of a launch for which no GPU is a candidate. */
export function refusalOf({
  could_ever,
  needs_containers,
  awaits_image,
}: Pick<PlacementDecision, 'could_ever' | 'needs_containers' | 'awaits_image'>): Refusal {
  if (could_ever) return { code: 'capacity_exhausted' };
  if (awaits_image)
    return { code: 'no_host_available', message: 'No host has the image of this app yet; try again soon.' };
  if (!needs_containers) return { code: 'no_host_available' };
  return {
    code: 'no_host_available',
    message: 'This app is a container image, and no host runs containers yet.',
  };
}
