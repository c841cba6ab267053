/**
 * Main program of the media worker. It sends `warm` when the native libraries are loaded, serves one session, and
 * exits. It does not outlive its parent, because the kernel kills it when the parent ends, and it exits when its
 * channel closes.
 */

import { randomBytes, randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { dieWithParent, exitNow, initialise } from '@footlight/gst';
import { confineProcess } from '@footlight/gst/seccomp';
import { errorText, TokenBucket } from '@footlight/platform';
import { MAX_PADS } from '@footlight/protocol/input';
import * as datachannel from 'node-datachannel';
import { openDeviceFiles } from '../../input/device-file.ts';
import { describeTouchScreen } from '../../input/touch-screen.ts';
import { deviceFilter } from '../../input/virtual-device.ts';
import { describePad } from '../../input/virtual-pad.ts';
import { withPatience } from '../../patience.ts';
import { appFilter } from '../../runtime/confinement/seccomp.ts';
import { systemMediaClock } from '../session/media-clock.ts';
import { MediaFailure } from '../session/media-reports.ts';
import { MediaSession } from '../session/media-session.ts';
import { warmEncoder, warmUp } from '../warm-up/warm-up.ts';
import { openParentChannel, PARENT_PID_VARIABLE, RECORDING_FD, WORKER_FILES_FD } from './child-entry.ts';
import {
  type ParentMessage,
  type PrepareMessage,
  PULSE_MS,
  parentMessage,
  type WorkerMessage,
} from './worker-messages.ts';

/** Time limit for sending the report of an exception. Chosen, not measured. */
const LAST_WORDS_MS = 100;
/** Time limit for leaving, the same as for a stop (STOP_MS of the agent). */
const LEAVE_MS = withPatience(1_500);
/**
 * Limits of log lines. The WebRTC library logs a line for each unreadable datagram, and anyone can send unreadable
 * datagrams. The agent kills a worker that sends too many messages (MESSAGES_PER_SECOND). Chosen, not measured.
 */
const WEBRTC_LINES_PER_SECOND = 1;
const WEBRTC_LINES_AT_ONCE = 20;
/**
 * Size of Node's buffer pool. With it, one allocation is enough for about 50 packets instead of six (the default is 8
 * KiB).
 */
const POOL_BYTES = 64 * 1024;
const ENGINE_FLAGS = ['--max-inlined-bytecode-size=80', '--max-inlined-bytecode-size-cumulative=150'];
const parentPid = Number(process.env[PARENT_PID_VARIABLE]);
const channel = openParentChannel({
  onMessage: onRaw,
  onBroken: () => undefined,
  onClosed: onChannelClosed,
});

let session: MediaSession | null = null;
/** Messages are handled one after the other, because prepare is asynchronous. */
let work: Promise<void> = Promise.resolve();
let resolveSession: () => void = () => undefined;
/** Messages of viewers, which do not wait for the preparation. They are handled as soon as the session exists. */
let talk = new Promise<void>((resolve) => {
  resolveSession = resolve;
});

function send(message: WorkerMessage): void {
  channel.send(message);
}

function fail(error: unknown): void {
  const failure_code = error instanceof MediaFailure ? error.code : 'internal';
  const message = errorText(error);
  send({ type: 'failure', failure_code, error: message });
}

async function onMessage(message: ParentMessage): Promise<void> {
  switch (message.type) {
    case 'prepare': {
      // Opened now, because the session's user is not permitted to open these files. Open descriptors stay usable.
      const { files, problem } = openDeviceFiles(MAX_PADS);
      if (problem !== null) {
        send({ type: 'log', level: 'info', event: 'media.no_gamepads', fields: { why: problem } });
      }
      // A session without a stream needs no touch screen, because it has no viewers.
      const isTouched = message.reads_devices === true && message.encodes !== false;
      const [touchFile = null] = isTouched ? openDeviceFiles(1).files : [];
      takeIdentity(message, touchFile !== null);
      session = new MediaSession({
        prepare: message,
        clock: systemMediaClock,
        padFiles: files,
        touchFile,
        recording: message.stream.recorder
          ? new Socket({ fd: RECORDING_FD, readable: false, writable: true })
          : null,
        files: message.files ? new Socket({ fd: WORKER_FILES_FD, readable: true, writable: true }) : null,
        uuid: randomUUID,
        random32: () => randomBytes(4).readUInt32LE(),
        send,
      });
      resolveSession();
      await session.prepare();
      send({ type: 'prepared' });
      systemMediaClock.setInterval(() => send({ type: 'pulse' }), PULSE_MS);
      return;
    }
    case 'warm_encoder':
      send({
        type: 'encoder_warm',
        error: await warmEncoder(message).then(
          () => null,
          (error: unknown) => errorText(error, 500),
        ),
      });
      return;
    case 'start':
      // Not awaited: the session reports its own failures, and viewers that attach get their offer in the meantime.
      void session?.start();
      return;
    case 'stop':
      await session?.stop(message.reason);
      await leave(true);
      return;
    default:
      session?.handle(message);
  }
}

/**
 * Changes permanently to the session's user, and sets the directories that libraries use to directories of the session.
 */
function takeIdentity(
  { uid, gid, xauthority, scratch_dir, encoder }: PrepareMessage,
  hasTouchScreen: boolean,
): void {
  process.env.HOME = scratch_dir;
  process.env.XDG_RUNTIME_DIR = scratch_dir;
  if (xauthority === null) delete process.env.XAUTHORITY;
  else process.env.XAUTHORITY = xauthority;
  if (uid === null || gid === null) return;
  const groups = [gid];
  // For encoding, the session's user needs at most one more right: the group of the render node.
  if (encoder.render_node !== null) groups.push(statSync(encoder.render_node).gid);
  process.setgroups?.(groups);
  process.setgid?.(gid);
  process.setuid?.(uid);
  // Viewers or apps may exploit this process, so it gets the same system call filter as apps.
  confineProcess(appFilter(false));
  confineProcess(deviceFilter([describePad(''), ...(hasTouchScreen ? [describeTouchScreen('', 1, 1)] : [])]));
  followParent();
}

/**
 * A change of user clears the parent-death signal (prctl(2)), so this is called at the start and again after the
 * change.
 */
function followParent(): void {
  dieWithParent();
  if (process.ppid !== parentPid) process.exit(1);
}

async function leave(orderly: boolean): Promise<void> {
  if (orderly) {
    await new Promise<void>((resolve) =>
      channel.send({ type: 'stopped' } satisfies WorkerMessage, () => resolve()),
    );
  }
  // exitNow() is used, because native threads of both libraries can block an ordinary exit forever.
  exitNow(orderly ? 0 : 1);
}

function onRaw(raw: unknown): void {
  const parsed = parentMessage.safeParse(raw);
  if (!parsed.success) {
    send({ type: 'log', level: 'error', event: 'media.bad_message', fields: { why: parsed.error.message } });
    return;
  }
  // A stop overtakes queued messages, because the current message may hang. A withdrawal overtakes them too, because
  // its change may be queued and must not start.
  const { type } = parsed.data;
  if (type === 'stop' || type === 'withdraw_display') void onMessage(parsed.data).catch(fail);
  else if (type === 'attach' || type === 'detach' || type === 'signal' || type === 'guests')
    talk = talk.then(() => onMessage(parsed.data)).catch(fail);
  else work = work.then(() => onMessage(parsed.data)).catch(fail);
}

function onChannelClosed(): void {
  systemMediaClock.setTimeout(() => process.exit(1), LEAVE_MS);
  const stopping = session?.stop('agent_shutdown') ?? Promise.resolve();
  void stopping.finally(() => leave(false));
}

// Ignored, because a terminal's Ctrl-C reaches the whole process group, but the agent decides the order of the
// teardown.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => {
  const stopping = session?.stop('agent_shutdown') ?? Promise.resolve();
  void stopping.finally(() => leave(true));
});

process.on('uncaughtException', (error) => {
  fail(error);
  systemMediaClock.setTimeout(() => process.exit(1), LAST_WORDS_MS);
});

// Less inlining, because optimizing with the default limits costs a new session more time than it saves within minutes.
for (const flag of ENGINE_FLAGS) setFlagsFromString(flag);
// Larger than the default, because a packet uses a sixth of the default pool, and each pool costs an allocation and
// garbage collection.
Buffer.poolSize = POOL_BYTES;
followParent();
initialise();
const webrtcLines = new TokenBucket(
  WEBRTC_LINES_PER_SECOND,
  WEBRTC_LINES_AT_ONCE,
  systemMediaClock.monotonicMs(),
);
datachannel.initLogger('Error', (_level, message) => {
  if (!webrtcLines.take(systemMediaClock.monotonicMs())) return;
  send({ type: 'log', level: 'warn', event: 'media.webrtc', fields: { message } });
});
datachannel.preload();
work = warmUp()
  // Ignored here, because the session itself will fail with a more exact reason.
  .catch(() => undefined)
  .then(() => send({ type: 'warm' }));
