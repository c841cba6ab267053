import { isAbsolute, resolve } from 'node:path';
import type { RefusalCode } from '@footlight/protocol';
import type { AppSpec, EncoderInfo, SessionAssign } from '@footlight/protocol/agent';
import type { ConsoleState } from '../console/host-console.ts';
import { isHomeVolume, isMountable } from '../runtime/container/engine/engine-names.ts';
import { isBelow } from './home/home-path.ts';

/** Facts about the host that decide whether an assignment is accepted. */
export interface AssignFacts {
  /** State of the console. */
  console: ConsoleState;
  processRuntime: boolean;
  /** Directories that are private to each app, and the paths below them that apps still see. */
  hidden: { dirs: readonly string[]; except: readonly string[] };
  /** Whether a container engine answers. */
  containerEngine: boolean;
  homeRoot: string;
  /** Default encoder family of sessions. */
  encoderFamily: string;
  encoders: readonly EncoderInfo[];
  /** Indexes of the reported GPUs. */
  gpus: readonly number[];
}

export interface Refusal {
  code: RefusalCode;
  error: string;
}

/**
 * Whether this host accepts an assignment. Pure; reasons are checked in a fixed order.
 * @returns null: the assignment is accepted
 */
export function decideAssign(assign: SessionAssign, host: AssignFacts): Refusal | null {
  const { video_topology } = assign;
  const consoleRefusal = video_topology === 'stream_only' ? null : CONSOLE_REFUSALS[host.console];
  const encodes = video_topology !== 'local_only';
  return consoleRefusal ?? decideApp(assign.app, host) ?? (encodes ? streamRefusal(assign, host) : null);
}

const CONSOLE_REFUSALS: Record<ConsoleState, Refusal | null> = {
  none: { code: 'unsupported', error: 'this host can show nothing on a display of its own' },
  off: { code: 'unsupported', error: 'the display beside this host is turned off' },
  taken: { code: 'busy', error: 'another session has the display beside this host' },
  free: null,
};

/** Whether this host accepts an app. Pure. @returns null: the app is accepted */
export function decideApp(app: AppSpec, host: AssignFacts): Refusal | null {
  return appRefusal(app, host) ?? homeRefusal(app, host);
}

function appRefusal(app: AppSpec, host: AssignFacts): Refusal | null {
  if (app.image !== '') {
    if (!host.containerEngine)
      return refuse('image_missing', `no container engine on this host could run ${app.image}`);
    return nulRefusal(app);
  }
  if (!host.processRuntime) {
    return refuse('policy', 'this host does not run processes: SERVICE_PROCESS_RUNTIME is not 1');
  }
  if (app.args.length === 0 || app.args[0] === '')
    return refuse('policy', 'a process needs a command in args');
  if (app.mounts.length > 0) return refuse('policy', `a process takes no mounts: ${app.mounts[0]}`);
  return hiddenRefusal(app.args[0] as string, host) ?? nulRefusal(app);
}

/**
 * Without this check, an app whose program is hidden would end with status 127, which tells an administrator nothing.
 */
function hiddenRefusal(program: string, { hidden }: AssignFacts): Refusal | null {
  if (!isAbsolute(program)) return null;
  const path = resolve(program);
  const dir = hidden.dirs.find((one) => isBelow(one, path));
  if (dir === undefined || hidden.except.some((one) => isBelow(one, path))) return null;
  return refuse(
    'policy',
    `${program} cannot be found in a session, because each session has its own ${dir}; move the program, for example to /opt`,
  );
}

function nulRefusal({ args, env }: AppSpec): Refusal | null {
  if (args.some((arg) => arg.includes('\0'))) return refuse('policy', 'an argument holds a NUL character');
  if (Object.entries(env).some((entry) => entry.join().includes('\0')))
    return refuse('policy', 'a variable of env holds a NUL character');
  return null;
}

function homeRefusal(app: AppSpec, host: AssignFacts): Refusal | null {
  if (!app.home) return null;
  const { provider, ref, container_path } = app.home;
  const isContainer = app.image !== '';
  if (isContainer && (!isMountable(container_path) || resolve(container_path) === '/'))
    return refuse('policy', `a home cannot be mounted at ${container_path}`);
  if (provider === 'volume') {
    if (!isContainer) return refuse('policy', `a process cannot use an engine volume as its home: ${ref}`);
    return isHomeVolume(ref) ? null : refuse('policy', `${ref} is no volume of a home`);
  }
  if (isContainer && !isMountable(ref)) return refuse('policy', `${ref} cannot be named in a mount`);
  // The path becomes a field of a passwd line, so it must not contain a colon or a line break.
  if (breaksPasswd(ref) || !isBelow(host.homeRoot, ref)) {
    return refuse('policy', `${ref} is not below the home root ${host.homeRoot}`);
  }
  return null;
}

function streamRefusal(assign: SessionAssign, host: AssignFacts): Refusal | null {
  const family = assign.encoder ?? host.encoderFamily;
  const { codec, width, height, h264_profile } = assign.stream;
  if (!host.gpus.includes(assign.gpu_index)) {
    return refuse('encoder_unavailable', `there is no GPU ${assign.gpu_index} on this host`);
  }
  const encoder = host.encoders.find(
    (info) => info.family === family && info.gpu_index === assign.gpu_index && info.codec === codec,
  );
  if (!encoder?.available) {
    const why = encoder?.reason ? `: ${encoder.reason}` : '';
    return refuse('encoder_unavailable', `${family} cannot encode ${codec} on GPU ${assign.gpu_index}${why}`);
  }
  if (width > (encoder.max_width ?? width) || height > (encoder.max_height ?? height)) {
    return refuse('encoder_unavailable', `${width}×${height} is more than ${family} can encode`);
  }
  if (codec === 'h264' && encoder.h264_profiles && !encoder.h264_profiles.includes(h264_profile)) {
    return refuse('encoder_unavailable', `${family} has no H.264 profile ${h264_profile}`);
  }
  return null;
}

function breaksPasswd(text: string): boolean {
  return [...text].some((character) => character < ' ' || character === '\u007f' || character === ':');
}

function refuse(code: RefusalCode, error: string): Refusal {
  return { code, error };
}
