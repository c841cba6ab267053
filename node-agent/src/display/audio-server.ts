import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { delay } from '@footlight/platform';
import { type ChildExit, startChild } from '../runtime/child.ts';
import { asSessionUser, helperEnvironment, withMemoryLimit } from '../runtime/launch-line.ts';
import { LogRing } from '../runtime/log-ring.ts';
import type { HelperDeps, HelperOptions } from './helper.ts';

const START_LIMIT_MS = 5_000;
const POLL_MS = 5;
/** Its data were 75 MB without an app (PulseAudio 16, measured on Debian 12). An app can have it keep samples without end. */
const SOUND_SERVER_BYTES = 512 * 1024 * 1024;

/** Name of the one sink; its monitor is what the viewer hears. */
export const SINK_NAME = 'footlight';
/** The sink that a viewer's microphone plays into, where the session was granted one. */
export const VOICE_SINK_NAME = 'footlight_voice';
/** What apps record from: the only source that is no monitor, and so the default one. */
export const VOICE_SOURCE_NAME = 'microphone';

const VOICE_MODULES = [
  ...['-L', `module-null-sink sink_name=${VOICE_SINK_NAME} rate=48000 channels=1`],
  ...[
    '-L',
    `module-remap-source master=${VOICE_SINK_NAME}.monitor source_name=${VOICE_SOURCE_NAME} ` +
      'source_properties=device.description=Microphone',
  ],
] as const;

/** A session's own sound server. */
export interface AudioServer {
  /** PulseAudio server string. */
  readonly server: string;
  readonly exited: Promise<ChildExit>;
  close(): Promise<void>;
}

export interface AudioServerOptions extends HelperOptions {
  /** Whether apps may hear the viewer. */
  microphone: boolean;
}

/**
 * Starts a PulseAudio with one null sink, as the session's user, and with a microphone where that was granted.
 *
 * Its socket lies in the session's runtime directory, which no other user may enter. Shared memory is off, since
 * the server would leave its segments behind when it is killed; so are realtime scheduling, module loading and
 * stopping on request, because every program of the session can talk to it.
 * @throws when its socket is not there within 5 s
 */
export async function startAudioServer(options: AudioServerOptions, deps: HelperDeps): Promise<AudioServer> {
  const { dirs } = options;
  const socket = join(dirs.run, 'pulse.sock');
  const log = new LogRing(64 * 1024);
  const server = [
    'pulseaudio',
    ...['-n', '--daemonize=no', '--use-pid-file=no', '--exit-idle-time=-1', '--disable-shm=yes'],
    ...['--realtime=no', '--high-priority=no', '--disallow-exit=yes', '--disallow-module-loading=yes'],
    ...['--log-target=stderr', '--log-level=error'],
    // The sink first: whoever finds the socket finds the sink as well.
    ...['-L', `module-null-sink sink_name=${SINK_NAME} rate=48000 channels=2 channel_map=stereo`],
    ...(options.microphone ? VOICE_MODULES : []),
    ...['-L', `module-native-protocol-unix socket=${socket} auth-anonymous=1 auth-group-enable=0`],
  ];
  const argv = asSessionUser(options, withMemoryLimit(SOUND_SERVER_BYTES, server));
  const child = await startChild(argv, {
    env: {
      ...helperEnvironment(deps.env, options.sessionId, dirs),
      PULSE_RUNTIME_PATH: join(dirs.run, 'pulse'),
      // Otherwise the server looks for a session bus and complains that there is none.
      DBUS_SESSION_BUS_ADDRESS: 'disabled:',
    },
    cwd: '/',
    onOutput: (chunk) => log.add(chunk),
  });
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
    server: `unix:${socket}`,
    exited: child.exited,
    async close() {
      child.signal('SIGTERM');
      await Promise.race([child.exited, delay(deps.clock, 200)]);
      child.signal('SIGKILL');
      await child.exited;
    },
  };
}
