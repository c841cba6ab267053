import type { Clock, Logger, Random } from '@footlight/platform';
import type { SessionAssign } from '@footlight/protocol/agent';
import type { StartDisplay } from '../../display/xvfb.ts';
import type { MediaFallback } from '../../media/fallback/media-fallback.ts';
import type { EncoderChoice, PrepareMessage } from '../../media/worker/worker-messages.ts';
import type { MediaWorkerPool } from '../../media/worker/worker-pool.ts';
import type { FlightRecorder } from '../../recorder/flight-recorder.ts';
import type { HomeVolumes } from '../../runtime/container/home-volumes.ts';
import type { AppGpu, Runtime } from '../../runtime/runtime.ts';
import type { HomeLocks } from '../home/home-locks.ts';
import type { SessionLink } from '../reports/session-link.ts';
import type { Quarantine } from '../resources/quarantine.ts';
import type { UidPool } from '../resources/uid-pool.ts';
import type { UidSweep } from '../resources/uid-sweep.ts';

/** The supervisor's decisions about a session before its start. */
export interface SessionPlan {
  assign: SessionAssign;
  /** Starts the session's display. */
  startDisplay: StartDisplay;
  uid: number | null;
  /** Groups that the session's user needs to open its GPU. */
  groups: number[];
  homeRoot: string;
  /** Whether this host chose the home root; if not, the control plane did. */
  ownsHomeRoot: boolean;
  encoder: EncoderChoice;
  gpu: AppGpu;
  /** Host settings at the time of this launch. */
  settings: Record<string, unknown>;
  /** Largest file that viewers may send and fetch, in MiB; null: file transfers are disabled. */
  maxFileMb: number | null;
  media: PrepareMessage['media'];
}

/** Dependencies that all sessions of the host share. */
export interface SessionDeps {
  clock: Clock;
  random: Random;
  logger: Logger;
  link: SessionLink;
  workers: MediaWorkerPool;
  /** null: this host has no fallback port. */
  fallback: Pick<MediaFallback, 'register'> | null;
  runtime: Runtime;
  recorder: Pick<FlightRecorder, 'begin' | 'follow' | 'end' | 'command'>;
  homes: HomeLocks;
  volumes: Pick<HomeVolumes, 'make'>;
  quarantine: Quarantine;
  sweep: UidSweep;
  /** Whether display, sound server and window manager run in empty network namespaces. */
  helpersWithoutNetwork: boolean;
  /** Whether a root agent runs apps in mount namespaces. */
  ownMounts: boolean;
  /** null: the agent is not root, so sessions run as its user. */
  uids: UidPool | null;
  stateDir: string;
  /** Ends sessions whose apps have bound abstract names of displays, and waits a short time for their end. */
  endNameHolders(): Promise<void>;
}
