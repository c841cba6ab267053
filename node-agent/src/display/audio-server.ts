import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { delay, within } from '@footlight/platform';
import { withPatience } from '../patience.ts';
import { helperEnvironment, withMemoryLimit } from '../runtime/confinement/command-line.ts';
import { LogRing } from '../runtime/log-ring.ts';
import type { ChildExit } from '../runtime/programs/child.ts';
import type { SessionDirs } from '../runtime/runtime.ts';
import { startHelper } from '../runtime/sandbox.ts';
import type { HelperDeps, HelperOptions } from './helper.ts';

/**
 * Time limit of the start; a start takes less even on a busy machine. After the limit, the session continues without
 * sound. Chosen, not measured.
 */
const START_LIMIT_MS = withPatience(5_000);
/** Short, because the launch waits for the socket. Each poll calls lstat(2) once. */
const POLL_MS = 5;
/**
 * Memory limit, because an app can make PulseAudio store samples without limit. PulseAudio 16 used 75 MB without an app
 * (Debian 12).
 */
const SOUND_SERVER_BYTES = 512 * 1024 * 1024;

/** Name of the sink to which apps play; viewers hear its monitor. */
export const SINK_NAME = 'footlight';
/** Sink of the viewer's microphone, if the session has one. */
export const VOICE_SINK_NAME = 'footlight_voice';
/** Name of the source from which apps record. It is the default source, because all other sources are monitors. */
export const VOICE_SOURCE_NAME = 'microphone';

const VOICE_MODULES = [
  ...['-L', `module-null-sink sink_name=${VOICE_SINK_NAME} rate=48000 channels=1`],
  ...[
    '-L',
    `module-remap-source master=${VOICE_SINK_NAME}.monitor source_name=${VOICE_SOURCE_NAME} ` +
      'source_properties=device.description=Microphone',
  ],
] as const;

/** PulseAudio server string of a session's sound server. */
export function soundServer(dirs: Pick<SessionDirs, 'run'>): string {
  return `unix:${soundSocket(dirs)}`;
}

function soundSocket({ run }: Pick<SessionDirs, 'run'>): string {
  return join(run, 'pulse.sock');
}

/** The sound server of a session. */
export interface AudioServer {
  /** PulseAudio server string. */
  readonly server: string;
  readonly exited: Promise<ChildExit>;
  close(): Promise<void>;
}

export interface AudioServerOptions extends HelperOptions {
  /** Whether apps may hear the viewer's microphone. */
  microphone: boolean;
}

/**
 * Starts PulseAudio as the session's user. It has one null sink, and a microphone if the session has one.
 *
 * Its socket is in the session's runtime directory, which no other user may enter. Shared memory is off, because a
 * killed server would leave its segments. Realtime scheduling, module loading and exit on request are off, because
 * every program of the session can send commands to the server.
 * @throws when the socket does not exist within 5 s
 */
export async function startAudioServer(options: AudioServerOptions, deps: HelperDeps): Promise<AudioServer> {
  const { dirs } = options;
  const socket = soundSocket(dirs);
  const log = new LogRing(64 * 1024);
  const server = [
    'pulseaudio',
    ...['-n', '--daemonize=no', '--use-pid-file=no', '--exit-idle-time=-1', '--disable-shm=yes'],
    ...['--realtime=no', '--high-priority=no', '--disallow-exit=yes', '--disallow-module-loading=yes'],
    ...['--log-target=stderr', '--log-level=error'],
    // The sink is loaded first, so that it exists when the socket does.
    ...['-L', `module-null-sink sink_name=${SINK_NAME} rate=48000 channels=2 channel_map=stereo`],
    ...(options.microphone ? VOICE_MODULES : []),
    ...['-L', `module-native-protocol-unix socket=${socket} auth-anonymous=1 auth-group-enable=0`],
  ];
  const settings = {
    env: {
      ...helperEnvironment(deps.env, options.sessionId, dirs),
      PULSE_RUNTIME_PATH: join(dirs.run, 'pulse'),
      // Without this value the server searches for a session bus and logs an error.
      DBUS_SESSION_BUS_ADDRESS: 'disabled:',
    },
    cwd: '/',
    clock: deps.clock,
    onOutput: (chunk: Buffer) => log.add(chunk),
  };
  const argv = withMemoryLimit(SOUND_SERVER_BYTES, server);
  const child = await startHelper(options, argv, settings, deps.clock);
  options.confine?.(child.pid);
  const deadlineMs = deps.clock.monotonicMs() + START_LIMIT_MS;
  while ((await lstat(socket).catch(() => null)) === null) {
    if (!child.alive || options.ended.aborted || deps.clock.monotonicMs() > deadlineMs) {
      child.signal('SIGKILL');
      await child.exited;
      throw new Error(`pulseaudio did not start: ${log.tail(3, 400) || 'it gave no reason'}`);
    }
    await delay(deps.clock, POLL_MS);
  }
  return {
    server: soundServer(dirs),
    exited: child.exited,
    async close() {
      child.signal('SIGTERM');
      await within(deps.clock, 200, child.exited, undefined);
      child.signal('SIGKILL');
      await child.exited;
    },
  };
}
