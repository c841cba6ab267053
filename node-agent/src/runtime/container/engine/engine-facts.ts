import { z } from 'zod';
import { isMountable } from './engine-names.ts';

/** Properties that an engine reports about itself: GET /version and GET /info of the Docker API. */
export interface EngineFacts {
  kind: 'podman' | 'docker';
  version: string;
  /** Directory of images and containers; null: not reported. */
  storeDir: string | null;
  defaultRuntime: string;
  /**
   * Whether the engine applies `Runtime` and `DeviceRequests` of a container. Podman before 5.4.0 silently ignores
   * both.
   */
  obeysRequests: boolean;
  rootless: boolean;
}

const versionSchema = z.object({
  Version: z.string(),
  Components: z.array(z.object({ Name: z.string(), Version: z.string() })).nullish(),
});
const infoSchema = z.object({
  DockerRootDir: z.string().nullish(),
  DefaultRuntime: z.string().nullish(),
  SecurityOptions: z.array(z.string()).nullish(),
});

/** GET /libpod/info of podman's own API. */
const ownInfoSchema = z.object({ host: z.object({ security: z.object({ rootless: z.boolean() }) }) });

/**
 * Oldest usable releases. Podman's Docker API must support every call used here; docker must support cgroups v2 and
 * private cgroup namespaces.
 */
const OLDEST = { podman: [4, 0], docker: [20, 10] } as const;
/** First podman release that applies `Runtime` and `DeviceRequests`. Source: containers/podman#22645. */
const PODMAN_OBEYS = [5, 4] as const;

/**
 * Identifies an engine by its components, because podman also reports a version number of docker's API.
 * @param ownInfo answer of podman's own API; null: no answer. This answer is needed because podman 4.3 does not report
 * in docker's API that it is rootless
 * @throws when an answer has another form
 */
export function readEngineFacts(version: unknown, info: unknown, ownInfo: unknown = null): EngineFacts {
  const said = versionSchema.parse(version);
  const { DockerRootDir, DefaultRuntime, SecurityOptions } = infoSchema.parse(info);
  const podman = said.Components?.find(({ Name }) => /podman/i.test(Name));
  const kind = podman === undefined ? 'docker' : 'podman';
  const number = podman?.Version ?? said.Version;
  return {
    kind,
    version: number,
    storeDir: DockerRootDir ?? null,
    defaultRuntime: DefaultRuntime ?? '',
    obeysRequests: kind === 'docker' || isAtLeast(number, PODMAN_OBEYS),
    rootless:
      SecurityOptions?.some((option) => /rootless/.test(option)) === true ||
      ownInfoSchema.safeParse(ownInfo).data?.host.security.rootless === true,
  };
}

/** A reason why an engine cannot be used, with remedies for administrators. */
export interface EngineProblem {
  summary: string;
  mend: string[];
}

export interface EngineWishes {
  /** Value of SERVICE_CONTAINER_RUNTIME; null: the engine's default. */
  ociRuntime: string | null;
  /** Whether the host has an NVIDIA GPU, which apps get by CDI. */
  nvidia: boolean;
  /** Path of the state directory; sockets in it are mounted into containers. */
  stateDir: string;
}

/** Whether this agent can run apps with an engine. Pure. @returns null: no problem */
export function engineProblem(facts: EngineFacts, wishes: EngineWishes): EngineProblem | null {
  const name = `${facts.kind} ${facts.version}`;
  const oldest = OLDEST[facts.kind];
  if (!isAtLeast(facts.version, oldest)) {
    return {
      summary: `${name} is too old to run apps.`,
      mend: [`Install ${facts.kind} ${oldest.join('.')} or newer.`],
    };
  }
  const { ociRuntime } = wishes;
  if (ociRuntime !== null && !facts.obeysRequests && facts.defaultRuntime !== ociRuntime) {
    return {
      summary: `${name} ignores SERVICE_CONTAINER_RUNTIME=${ociRuntime} and runs containers with ${facts.defaultRuntime || 'a runtime of its own choice'}.`,
      mend: [
        `Write runtime = "${ociRuntime}" into the section [engine] of /etc/containers/containers.conf and restart its service.`,
        'Or install podman 5.4 or newer.',
      ],
    };
  }
  if (wishes.nvidia && !facts.obeysRequests) {
    return {
      summary: `${name} gives containers no NVIDIA GPU, and does not say so.`,
      mend: ['Install podman 5.4 or newer, or docker.'],
    };
  }
  if (!isMountable(wishes.stateDir)) {
    return {
      summary: `SERVICE_AGENT_STATE_DIR has a character that ${facts.kind} does not take in a mount: ${wishes.stateDir}`,
      mend: ['Use a path without commas, colons, quotes and control characters.'],
    };
  }
  return null;
}

function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [own = 0, below = 0] = version.split('.').map((part) => Number.parseInt(part, 10) || 0);
  return own > major || (own === major && below >= minor);
}
