import type { Clock, Logger } from '@footlight/platform';
import type { AgentConfig } from '../../config/environment.ts';
import { ContainerAdmission } from './admission.ts';
import { ContainerRuntime } from './container-runtime.ts';
import { EngineHost, engineOptions } from './engine/engine-host.ts';
import { HomeVolumes } from './home-volumes.ts';
import { ImagePulls } from './image-pulls.ts';

/** The parts of an agent that use a container engine. Owner: the agent, which closes them. */
export interface AgentContainers {
  engine: EngineHost;
  pulls: ImagePulls;
  runtime: ContainerRuntime;
  admission: ContainerAdmission;
  volumes: HomeVolumes;
  close(): void;
}

/** Facts that are known only after the hardware probe. */
export interface ProbedHost {
  homeRoot: string;
  hasNvidia: boolean;
  nvidiaLib32Path: string | null;
}

export function agentContainers(
  config: AgentConfig,
  deps: { clock: Clock; logger: Logger; probed: () => ProbedHost },
): AgentContainers {
  const { clock, logger, probed } = deps;
  const host = new EngineHost(
    engineOptions(config, () => probed().hasNvidia),
    { clock, logger, env: process.env },
  );
  const pulls = new ImagePulls({ open: () => host.open(), clock });
  const own = process.getuid?.() ?? 0;
  const rules = () => ({
    roots: config.mountRoots,
    stateDir: config.stateDir,
    homeRoot: probed().homeRoot,
    users: { range: own === 0 ? config.processUids : null, own },
  });
  const runtime = new ContainerRuntime(
    {
      limits: { memoryMb: config.appMemoryMb, pids: config.appPids, cpus: config.appCpus },
      network: config.containerNetwork,
      ociRuntime: config.containerRuntime,
      hostLimits: config.containerUlimits === 'host',
      rules,
      nvidiaLib32Path: () => probed().nvidiaLib32Path,
    },
    { host, pulls, clock, logger },
  );
  return {
    engine: host,
    pulls,
    runtime,
    admission: new ContainerAdmission(host, rules),
    volumes: new HomeVolumes(host),
    close() {
      pulls.close();
      runtime.close();
    },
  };
}
