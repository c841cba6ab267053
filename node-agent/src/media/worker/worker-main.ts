import { randomBytes, randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { confineProcess, dieWithParent, exitNow, initialise } from '@footlight/gst';
import { errorText } from '@footlight/platform';
import { MAX_PADS } from '@footlight/protocol/input';
import * as datachannel from 'node-datachannel';
import { openDeviceFiles } from '../../input/device-file.ts';
import { appFilter } from '../../runtime/seccomp.ts';
import { warmUp } from '../encode/warm-up.ts';
import { systemMediaClock } from '../session/media-clock.ts';
import { MediaFailure, MediaSession } from '../session/media-session.ts';
import { PARENT_PID_VARIABLE } from './child-entry.ts';
import {
  type ParentMessage,
  type PrepareMessage,
  PULSE_MS,
  parentMessage,
  type WorkerMessage,
} from './worker-messages.ts';

/**
 * The media worker's process. It says `warm` when the native libraries are loaded, serves one session, and exits.
 * It never outlives its parent: the kernel kills it with its parent, and it leaves when its channel closes.
 */

const LEAVE_MS = 1_500;
const POOL_BYTES = 64 * 1024;
const ENGINE_FLAGS = ['--max-inlined-bytecode-size=80', '--max-inlined-bytecode-size-cumulative=150'];
const parentPid = Number(process.env[PARENT_PID_VARIABLE]);

let session: MediaSession | null = null;
/** Messages are taken one after the other, because prepare takes time. */
let work: Promise<void> = Promise.resolve();
let tellSession: () => void = () => undefined;
/** What viewers say, which does not wait for the preparation to end; settles first when the session is there. */
let talk = new Promise<void>((resolve) => {
  tellSession = resolve;
});

function send(message: WorkerMessage): void {
  // The callback keeps a channel that closes meanwhile from throwing.
  if (process.connected) process.send?.(message, () => undefined);
}

function fail(error: unknown): void {
  const failure_code = error instanceof MediaFailure ? error.code : 'internal';
  const message = errorText(error);
  send({ type: 'failure', failure_code, error: message });
}

async function onMessage(message: ParentMessage): Promise<void> {
  switch (message.type) {
    case 'prepare': {
      // The session's user may not open these; what is open stays usable.
      const { files, problem } = openDeviceFiles(MAX_PADS);
      if (problem !== null) {
        send({ type: 'log', level: 'info', event: 'media.no_gamepads', fields: { why: problem } });
      }
      // Nobody touches what nobody is streamed.
      const isTouched = message.reads_devices === true && message.encodes !== false;
      const [touchFile = null] = isTouched ? openDeviceFiles(1).files : [];
      takeIdentity(message);
      session = new MediaSession({
        prepare: message,
        clock: systemMediaClock,
        padFiles: files,
        touchFile,
        uuid: randomUUID,
        random32: () => randomBytes(4).readUInt32LE(),
        send,
      });
      tellSession();
      await session.prepare();
      send({ type: 'prepared' });
      setInterval(() => send({ type: 'pulse' }), PULSE_MS).unref();
      return;
    }
    case 'start':
      // It reports its own failures; a viewer that attaches meanwhile gets its offer beside it.
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

/** Becomes the session's user for good, and points libraries at what is the session's own. */
function takeIdentity({ uid, gid, xauthority, scratch_dir, encoder }: PrepareMessage): void {
  process.env.HOME = scratch_dir;
  process.env.XDG_RUNTIME_DIR = scratch_dir;
  if (xauthority === null) delete process.env.XAUTHORITY;
  else process.env.XAUTHORITY = xauthority;
  if (uid === null || gid === null) return;
  const groups = [gid];
  // The render node's group is the only right beyond the session's own that encoding may need.
  if (encoder.render_node !== null) groups.push(statSync(encoder.render_node).gid);
  process.setgroups?.(groups);
  process.setgid?.(gid);
  process.setuid?.(uid);
  // Viewers and apps may take this process over; it has no more use for the parts of the kernel than they have.
  confineProcess(appFilter(false));
  followParent();
}

/** The change of user clears the parent-death signal, so this runs at the start and again afterwards. */
function followParent(): void {
  dieWithParent();
  if (process.ppid !== parentPid) process.exit(1);
}

async function leave(orderly: boolean): Promise<void> {
  if (orderly) {
    await new Promise<void>((resolve) => {
      if (!process.connected) resolve();
      else process.send?.({ type: 'stopped' } satisfies WorkerMessage, () => resolve());
    });
  }
  // Native threads of both libraries would keep any other end waiting, one that hangs for ever.
  exitNow(orderly ? 0 : 1);
}

process.on('message', (raw) => {
  const parsed = parentMessage.safeParse(raw);
  if (!parsed.success) {
    send({ type: 'log', level: 'error', event: 'media.bad_message', fields: { why: parsed.error.message } });
    return;
  }
  // A stop does not wait its turn: what it ends may be the very thing that hangs. Nor does a withdrawal: what it takes
  // back may have come with it, and should not even begin.
  const { type } = parsed.data;
  if (type === 'stop' || type === 'withdraw_display') void onMessage(parsed.data).catch(fail);
  else if (type === 'attach' || type === 'detach' || type === 'signal')
    talk = talk.then(() => onMessage(parsed.data)).catch(fail);
  else work = work.then(() => onMessage(parsed.data)).catch(fail);
});

process.on('disconnect', () => {
  setTimeout(() => process.exit(1), LEAVE_MS).unref();
  const stopping = session?.stop('agent_shutdown') ?? Promise.resolve();
  void stopping.finally(() => leave(false));
});

// A terminal's Ctrl-C reaches the whole group; the agent decides in which order things end.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => {
  const stopping = session?.stop('agent_shutdown') ?? Promise.resolve();
  void stopping.finally(() => leave(true));
});

process.on('uncaughtException', (error) => {
  fail(error);
  setTimeout(() => process.exit(1), 100);
});

// Compiling what is hot with all that it calls inlined costs a new session more than the code then saves it in minutes.
for (const flag of ENGINE_FLAGS) setFlagsFromString(flag);
// A packet takes a sixth of the default pool, and each pool costs an allocation and its collection.
Buffer.poolSize = POOL_BYTES;
followParent();
// The channel may have closed before anybody listened for it.
if (!process.connected) process.exit(1);
initialise();
datachannel.initLogger('Error', (_level, message) => {
  send({ type: 'log', level: 'warn', event: 'media.webrtc', fields: { message } });
});
datachannel.preload();
work = warmUp()
  // A session fails with a better reason where something is missing.
  .catch(() => undefined)
  .then(() => send({ type: 'warm' }));
