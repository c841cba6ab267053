import { constants } from 'node:fs';
import { freemem, loadavg, userInfo } from 'node:os';
import type { Clock, Logger } from '@footlight/platform';
import type { Codec, EncoderFamily } from '@footlight/protocol';
import type { Capacity, Gpu, Heartbeat, Readiness, SettingValue } from '@footlight/protocol/agent';
import type { AgentConfig } from '../config/environment.ts';
import { homeRootOf } from '../config/environment.ts';
import type { HostSettings } from '../config/host-settings.ts';
import { settingBaseline } from '../config/setting-values.ts';
import { UINPUT_PATH } from '../input/device-file.ts';
import type { ClockPair } from '../link/clock-pairs.ts';
import { isAllowed } from '../linux/access.ts';
import { type EncoderProbeResult, probeEncoders } from '../media/encode/encoder-probe.ts';
import { type FoundGpu, type GpuProbe, probeGpus } from '../probe/gpus.ts';
import { type HostFacts, HostFactsProbe } from '../probe/host-facts.ts';
import { HostLoadProbe } from '../probe/host-load.ts';
import { queryNvidia } from '../probe/nvidia.ts';
import { encodeSlots } from '../probe/slots.ts';
import type { EngineHost } from '../runtime/container/engine/engine-host.ts';
import { isPastaInstalled, pastaProblem } from '../runtime/network/app-network.ts';
import { deviceGroup } from '../runtime/process.ts';
import type { AppGpu } from '../runtime/runtime.ts';
import { type AppNetworkFact, type ConsoleFacts, readinessChecks } from './checks.ts';
import {
  areLimitsEnforceable,
  diskOf,
  isWritable,
  mdnsProblem,
  missingPrograms,
  reachableAddresses,
} from './facts.ts';
import { mediaReachabilityPorts, readFirewall } from './firewall.ts';
import { decideFallback, decideFirewall } from './firewall-verdict.ts';

const CODECS = ['h264', 'h265', 'av1'] as const;

/** Used until the control plane sends its configuration: the console is disabled. */
const NO_CONSOLE: ConsoleFacts = { wanted: null, lacks: null };

/**
 * Facts about this host: hardware and encoders, which are probed once before the first connection; the current
 * settings; readiness, which is checked at each registration.
 */
export class Inventory {
  readonly #config: AgentConfig;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #facts: HostFactsProbe;
  readonly #load: HostLoadProbe;
  readonly #settings: HostSettings;
  readonly #isolated: boolean;
  readonly #networks: boolean;
  readonly #engine: Pick<EngineHost, 'look'>;
  readonly #homeProblems: () => readonly string[];
  #probe: GpuProbe = { detection: 'failed', reason: 'not probed yet', gpus: [] };
  #encoders: EncoderProbeResult = { encoders: [], throughput: {} };
  #graceSecs = 0;
  #readiness: Readiness[] = [];
  #failing = new Set<string>();
  #vram: Pick<Heartbeat, 'gpu_vram'> = {};
  #nvidiaLoad = new Map<number, number>();

  constructor(
    config: AgentConfig,
    deps: {
      clock: Clock;
      logger: Logger;
      isolated: boolean;
      networks: boolean;
      settings: HostSettings;
      engine: Pick<EngineHost, 'look'>;
      /** Homes that could not be deleted or moved back, with reasons. */
      homeProblems: () => readonly string[];
    },
  ) {
    this.#config = config;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#isolated = deps.isolated;
    this.#networks = deps.networks;
    this.#facts = new HostFactsProbe(deps.clock);
    this.#load = new HostLoadProbe(deps.clock);
    this.#settings = deps.settings;
    this.#engine = deps.engine;
    this.#homeProblems = deps.homeProblems;
  }

  /** Finds GPUs and tests encoders. It takes seconds, because each encoder really encodes. */
  async probe(): Promise<void> {
    const { cpuModel } = await this.#facts.read();
    this.#probe = await probeGpus(cpuModel);
    this.#encoders = await probeEncoders(
      this.#probe.gpus.map(({ index, vendor, renderNode }) => ({ index, vendor, render_node: renderNode })),
      { clock: this.#clock, settings: this.#settings.forSessions },
    );
    const works = this.#encoders.encoders.filter(({ available }) => available);
    this.#logger.info(
      {
        gpus: this.#probe.gpus.map(({ model }) => model),
        encoders: works.map(({ family, codec }) => `${family}/${codec}`),
      },
      'hardware.probed',
    );
  }

  get gpus(): readonly FoundGpu[] {
    return this.#probe.gpus;
  }

  get encoders(): EncoderProbeResult['encoders'] {
    return this.#encoders.encoders;
  }

  /** Family of encoders, fixed at the start; a change applies after a restart. */
  get encoderFamily(): EncoderFamily {
    return this.#settings.latched('encoder') as EncoderFamily;
  }

  get homeRoot(): string {
    return homeRootOf(this.#config, this.#settings.values);
  }

  /** Directory with the 32-bit libraries of the NVIDIA driver; null: none is set. */
  get nvidiaLib32Path(): string | null {
    const path = this.#settings.values.get('nvidia_lib32_path');
    return typeof path === 'string' && path !== '' ? path : null;
  }

  /** Whether the home root is set by this host's environment, not by the control plane. */
  get ownsHomeRoot(): boolean {
    return this.homeRoot === homeRootOf(this.#config, settingBaseline(this.#config.hostSettings));
  }

  /** Current settings, for a session at its launch. */
  get settings(): Record<string, SettingValue> {
    return this.#settings.forSessions;
  }

  renderNode(gpuIndex: number): string | null {
    return this.#probe.gpus.find(({ index }) => index === gpuIndex)?.renderNode ?? null;
  }

  /** Names of this GPU that the session's app uses. */
  appGpu(gpuIndex: number): AppGpu {
    return { renderNode: this.renderNode(gpuIndex), cdiName: cdiName(this.#probe.gpus, gpuIndex) };
  }

  /** Whether this host can give NVIDIA GPUs to its apps. */
  get hasNvidia(): boolean {
    return this.#probe.gpus.some(({ vendor }) => vendor === 'nvidia');
  }

  /** Groups whose members may open this GPU. */
  gpuGroups(gpuIndex: number): number[] {
    const node = this.renderNode(gpuIndex);
    const group = node === null ? null : deviceGroup(node);
    return group === null || group === 0 ? [] : [group];
  }

  registered(graceSecs: number): void {
    this.#graceSecs = graceSecs;
  }

  async capacity(clock: ClockPair | null, console: ConsoleFacts = NO_CONSOLE): Promise<Capacity> {
    const facts = await this.#facts.read();
    await this.refreshReadiness(clock, console);
    const { detection, reason, gpus } = this.#probe;
    const codecs = this.#codecs();
    const throughput = this.#encoders.throughput[this.encoderFamily];
    return {
      type: 'capacity',
      detection,
      ...(reason === null ? {} : { detection_reason: reason }),
      host: hostOf(facts),
      gpus: gpus.map((gpu) => this.#gpu(gpu)),
      encoders: this.encoders.slice(0, 64),
      ...(codecs.length > 0 ? { codecs } : {}),
      ...(throughput ? { codec_throughput: throughput } : {}),
      effective_settings: { ...this.#settings.effective, home_root: this.homeRoot },
      readiness: this.#readiness,
    };
  }

  /** Heartbeat with the newest samples; values that could not be measured are missing. */
  heartbeat(
    liveByGpu: ReadonlyMap<number, number>,
  ): Omit<Heartbeat, 'type' | 'ts' | 'clock' | 'running_sessions'> {
    return {
      ...this.#vram,
      encoder_load: this.gpus.map(({ index }) => {
        const load = this.#nvidiaLoad.get(index);
        return {
          gpu_index: index,
          sessions: liveByGpu.get(index) ?? 0,
          ...(load === undefined ? {} : { load }),
        };
      }),
      cpu_load: Math.round((loadavg()[0] ?? 0) * 100) / 100,
      mem_free_mb: Math.floor(freemem() / (1024 * 1024)),
      ...this.#load.look(),
    };
  }

  /** Measures GPU memory and encoder load; the next heartbeats contain the result. */
  async sampleGpus(): Promise<void> {
    if (!this.gpus.some(({ nvidia }) => nvidia !== null)) return;
    const rows = await queryNvidia().catch(() => []);
    this.#nvidiaLoad.clear();
    const vram: NonNullable<Heartbeat['gpu_vram']> = [];
    for (const gpu of this.gpus) {
      const row = rows.find(({ pci }) => pci !== null && pci === gpu.nvidia?.pci);
      if (!row) continue;
      if (row.encoderLoad !== null) this.#nvidiaLoad.set(gpu.index, row.encoderLoad);
      if (row.vramUsedMb === null && row.vramFreeMb === null) continue;
      vram.push({
        index: gpu.index,
        ...(row.vramUsedMb === null ? {} : { used_mb: Math.round(row.vramUsedMb) }),
        ...(row.vramFreeMb === null ? {} : { free_mb: Math.round(row.vramFreeMb) }),
      });
    }
    this.#vram = vram.length > 0 ? { gpu_vram: vram } : {};
  }

  /** Disks of this host; the values are at most a minute old. */
  async storage(): Promise<HostFacts['storage']> {
    return (await this.#facts.read()).storage;
  }

  /** Repeats all checks and logs those that fail now but did not before. */
  async refreshReadiness(clock: ClockPair | null, console: ConsoleFacts = NO_CONSOLE): Promise<Readiness[]> {
    const config = this.#config;
    const [mdns, answers, appNetwork, containers] = await Promise.all([
      mdnsProblem(),
      readFirewall(),
      this.#appNetwork(),
      this.#engine.look(),
    ]);
    const firewall = decideFirewall(answers, 'udp', mediaReachabilityPorts(config.mediaPorts));
    if (firewall.kind === 'unanswered' && firewall.why !== null)
      this.#logger.info({ why: firewall.why }, 'readiness.firewall_unanswered');
    const facts = await this.#facts.read();
    const limitsWanted = config.appMemoryMb > 0 || config.appCpus > 0;
    this.#readiness = readinessChecks({
      root: process.getuid?.() === 0,
      user: userName(),
      processRuntime: config.processRuntime,
      containers,
      gpus: this.gpus,
      gpuProblem: this.#probe.reason,
      encoderFamily: this.encoderFamily,
      encoders: this.encoders,
      missingPrograms: missingPrograms(),
      unreadableRenderNodes: this.gpus.flatMap(({ renderNode }) =>
        renderNode !== null && !isAllowed(renderNode, constants.R_OK | constants.W_OK) ? [renderNode] : [],
      ),
      uinputWritable: isAllowed(UINPUT_PATH, constants.R_OK | constants.W_OK),
      storage: facts.storage,
      stateDisk: diskOf(config.stateDir),
      unwritable: [config.stateDir, this.homeRoot].filter((path) => !isWritable(path)),
      homeProblems: this.#homeProblems(),
      cgroupsWritable:
        this.#isolated && limitsWanted && areLimitsEnforceable(config.appMemoryMb, config.appCpus),
      limitsWanted,
      isolated: this.#isolated,
      appNetwork,
      clock,
      mdnsProblem: mdns,
      mediaAddresses: config.mediaAddresses ?? reachableAddresses(),
      firewall,
      mediaFallback: decideFallback(answers, config.mediaFallbackPort),
      console,
      settingsProblems: [...this.#settings.problems, ...this.#orphanProblem()],
      settingsAwaitingRestart: this.#settings.awaitingRestart,
    });
    this.#logFailures();
    return this.#readiness;
  }

  async #appNetwork(): Promise<AppNetworkFact> {
    if (!this.#networks) return { kind: 'no_namespaces' };
    if (!isPastaInstalled()) return { kind: 'not_installed' };
    const why = this.#config.processRuntime ? await pastaProblem(this.#clock) : null;
    return why === null ? { kind: 'own' } : { kind: 'fails', why };
  }

  #logFailures(): void {
    const failing = this.#readiness.filter(({ status }) => status === 'fail');
    for (const check of failing) {
      if (this.#failing.has(check.id)) continue;
      this.#logger.warn(
        { check: check.id, summary: check.summary, remediation: check.remediation },
        'readiness.failed',
      );
    }
    this.#failing = new Set(failing.map(({ id }) => id));
  }

  #orphanProblem(): string[] {
    const { orphanSecs } = this.#config;
    if (orphanSecs === 0 || orphanSecs >= this.#graceSecs) return [];
    return [
      `SERVICE_AGENT_ORPHAN_SECS (${orphanSecs}) is shorter than the control plane's grace (${this.#graceSecs} s), which is used instead`,
    ];
  }

  #codecs(): Codec[] {
    return CODECS.filter((codec) =>
      this.encoders.some(
        (info) => info.family === this.encoderFamily && info.codec === codec && info.available,
      ),
    );
  }

  #gpu(gpu: FoundGpu): Gpu {
    const mpixS = this.#encoders.throughput[this.encoderFamily]?.h264?.max_pixel_rate_mpix_s ?? null;
    const usable = this.encoders.some(
      (info) => info.family === this.encoderFamily && info.gpu_index === gpu.index && info.available,
    );
    return {
      index: gpu.index,
      vendor: gpu.vendor,
      model: gpu.model.slice(0, 128),
      vram_mb_total: Math.round(gpu.vramTotalMb),
      encode_slots_total: usable
        ? encodeSlots(this.encoderFamily, gpu.index, this.#config.encodeSlots, mpixS)
        : 0,
      render_node: gpu.renderNode,
    };
  }
}

/**
 * Name of an NVIDIA GPU in the container device interface (CDI); null: another vendor. The NVIDIA container toolkit
 * numbers GPUs like the driver, in the order of their PCI addresses.
 */
export function cdiName(
  gpus: readonly Pick<FoundGpu, 'index' | 'vendor' | 'nvidia'>[],
  gpuIndex: number,
): string | null {
  const nvidia = gpus
    .filter(({ vendor }) => vendor === 'nvidia')
    .sort((a, b) => (a.nvidia?.pci ?? '').localeCompare(b.nvidia?.pci ?? ''));
  const number = nvidia.findIndex(({ index }) => index === gpuIndex);
  return number < 0 ? null : `nvidia.com/gpu=${number}`;
}

function hostOf(facts: HostFacts): Capacity['host'] {
  return {
    cpu_cores: facts.cpuCores,
    mem_mb: facts.memMb,
    ...(facts.cpuModel === '' ? {} : { cpu_model: facts.cpuModel.slice(0, 256) }),
    storage: facts.storage,
  };
}

/** Name of this process's user; its number, if the user has no name, as in some containers. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}
