import { existsSync, realpathSync, statSync } from 'node:fs';
import { type Clock, errorText, type Logger } from '@footlight/platform';
import type { AppSpec } from '@footlight/protocol/agent';
import type { AppNetwork } from '../network/app-network.ts';
import {
  type AppContext,
  type FetchOptions,
  LaunchError,
  type RunningApp,
  type Runtime,
} from '../runtime.ts';
import { ContainerApp } from './container-app.ts';
import {
  type ContainerGpu,
  type ContainerLimits,
  containerName,
  containerOptions,
} from './container-options.ts';
import { type ContainerEngine, EngineError } from './engine/engine.ts';
import { type EngineHost, hostUlimits } from './engine/engine-host.ts';
import { type ImagePulls, isPinned } from './image-pulls.ts';
import { MountRefused, type MountRules } from './mount-policy.ts';
import { resolveMounts } from './mounts.ts';
import { Removals } from './removals.ts';

const INPUT_DEVICES = '/dev/input';

export interface ContainerRuntimeOptions {
  limits: ContainerLimits;
  network: 'none' | 'bridge' | 'host';
  ociRuntime: string | null;
  /** Whether containers get the limits of the host instead of the engine's limits. */
  hostLimits: boolean;
  rules: () => MountRules;
  /** As in ContainerHost. */
  nvidiaLib32Path: () => string | null;
}

/**
 * Runs an app in a container of podman or docker. The container is created under the app's own name, so that it can be
 * found and removed with the app even if the engine did not answer the creation.
 */
export class ContainerRuntime implements Runtime {
  readonly #options: ContainerRuntimeOptions;
  readonly #host: EngineHost;
  readonly #pulls: ImagePulls;
  readonly #clock: Clock;
  readonly #removals: Removals;

  constructor(
    options: ContainerRuntimeOptions,
    deps: { host: EngineHost; pulls: ImagePulls; clock: Clock; logger: Logger },
  ) {
    this.#options = options;
    this.#host = deps.host;
    this.#pulls = deps.pulls;
    this.#clock = deps.clock;
    this.#removals = new Removals({ ...deps, engine: () => deps.host.engine() });
  }

  /** Pulls the app's image if the engine does not have it. */
  async fetch({ image }: AppSpec, { ended, onPercent }: FetchOptions): Promise<void> {
    let held: boolean;
    try {
      held = (await (await this.#host.engine()).image(image)) !== null;
    } catch (error) {
      throw new LaunchError('container_failed', errorText(error));
    }
    if (held) return;
    if (!isPinned(image)) throw new LaunchError('image_missing', notPinned(image));
    try {
      await this.#pulls.wait(image, onPercent, ended);
    } catch (error) {
      if (!ended.aborted) throw new LaunchError('image_missing', errorText(error));
    }
  }

  /** Returns null, because the engine creates the network. */
  async openNetwork(): Promise<AppNetwork | null> {
    return null;
  }

  async start(app: AppSpec, context: AppContext): Promise<RunningApp> {
    await context.ready;
    const name = containerName(context.instance);
    let isUnanswered = false;
    try {
      const { engine, facts, hasInit, filters, isHere } = await this.#host.open();
      const image = await engine.image(app.image);
      if (image === null) throw new LaunchError('image_missing', `the engine no longer holds ${app.image}`);
      const { limits, network, ociRuntime, hostLimits, rules, nvidiaLib32Path } = this.#options;
      // Resolved again directly before the start, because a link may have been changed since the assignment.
      const mounts = await resolveMounts(app.mounts, rules());
      const options = containerOptions(
        { app, context, image, mounts, gpu: app.gpu ? gpuOf(context.gpu) : null },
        {
          ...{ agentId: this.#host.agentId, facts, hasInit, filters, limits, network, ociRuntime },
          ulimits: hostLimits ? hostUlimits() : null,
          ownIds: { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 },
          inputDevices: existsSync(INPUT_DEVICES) ? INPUT_DEVICES : null,
          nvidiaLib32Path: nvidiaLib32Path(),
        },
      );
      await engine.create(options).catch(async (error: unknown) => {
        // Status 409: the name is taken, because the engine did not answer an earlier creation.
        if (!(error instanceof EngineError) || error.status !== 409) {
          isUnanswered = !(error instanceof EngineError) || error.status === null;
          throw error;
        }
        await engine.remove(name);
        await engine.create(options);
      });
      await refuseNumberedGroups(engine, name, options.HostConfig?.GroupAdd ?? []);
      const sockets = isHere && options.HostConfig?.NetworkMode !== 'host' ? limits : null;
      return this.#removedWhenStopped(name, await ContainerApp.open(engine, name, this.#clock, sockets));
    } catch (error) {
      this.#removals.add(name, isUnanswered);
      if (error instanceof LaunchError) throw error;
      const code = error instanceof MountRefused ? 'internal' : 'container_failed';
      throw new LaunchError(code, errorText(error));
    }
  }

  /** Stops retrying the removal of containers. */
  close(): void {
    this.#removals.close();
  }

  #removedWhenStopped(name: string, app: ContainerApp): RunningApp {
    return {
      exited: app.exited,
      handedOver: app.handedOver,
      logTail: (lines, maxBytes) => app.logTail(lines, maxBytes),
      stop: async (graceMs) => {
        try {
          await app.stop(graceMs);
        } catch (error) {
          this.#removals.add(name);
          throw error;
        }
      },
    };
  }
}

export function notPinned(image: string): string {
  return `${image}: pin it by digest or install it as a catalog image`;
}

/** Largest /etc/group of an image in bytes; usual files have a few kilobytes. Chosen, not measured. */
const MAX_GROUP_FILE_BYTES = 1024 * 1024;

/**
 * Refuses images with groups whose name is a number. The engine looks up each additional group in the image, first by
 * its name. So a group that is *named* like the number could give the app another group of the host, for example the
 * group of the input devices.
 * @throws LaunchError
 */
export async function refuseNumberedGroups(
  engine: ContainerEngine,
  name: string,
  groups: readonly string[],
): Promise<void> {
  if (groups.length === 0) return;
  const file = await engine.textFile(name, '/etc/group', MAX_GROUP_FILE_BYTES);
  const taken = groups.find((group) => (file ?? '').split('\n').some((line) => nameOf(line) === group));
  if (taken !== undefined)
    throw new LaunchError('container_failed', `/etc/group of the image has a group with the name ${taken}`);
}

const nameOf = (line: string): string => line.split(':', 1)[0]?.trim() ?? '';

/** Uses the real name of the device, because the by-path link does not exist in the container. */
function gpuOf({ renderNode, cdiName }: AppContext['gpu']): ContainerGpu {
  if (renderNode === null) return { renderNode: null, cdiName };
  const path = realpathSync(renderNode);
  return { renderNode: { path, gid: statSync(path).gid }, cdiName };
}
