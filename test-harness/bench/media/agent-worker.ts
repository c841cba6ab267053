import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CHANNEL_FD, MessageChannel } from '../../../node-agent/src/media/worker/message-channel.ts';
import { fromSource, repositoryRoot } from '../../src/stack/program.ts';

/** A media worker of the agent, driven with the messages that the agent would send. */
export interface AgentWorker {
  readonly pid: number;
  /** @param listener called with every message that the worker sends */
  // biome-ignore lint/suspicious/noExplicitAny: messages of a program of ours, which its own tests check.
  onMessage(listener: (message: any) => void): void;
  /** @param listener called when the worker ends, with the reason */
  onExit(listener: (why: string) => void): void;
  send(message: object): void;
  /**
   * Waits for the next message of a type.
   * @throws when it does not arrive in time
   */
  said(type: string): Promise<void>;
  /**
   * Prepares and starts a session without sound.
   * @throws when it does not start in time
   */
  begin(session: WorkerSession): Promise<void>;
  /** Adds a viewer; the worker sends the offer as a message. */
  /** @param guest the guest who watches, on the socket 2; absent: the owner, on the socket 1 */
  attach(guest?: { id: string; name: string }): void;
  close(): Promise<void>;
}

export interface WorkerSession {
  display: string;
  stream: { width: number; height: number; fps: number; bitrate_kbps: number; rungs: [number, number][] };
  settings: Record<string, unknown>;
  /** Addresses that the worker offers; null = all except loopback. */
  addresses: string[] | null;
}

export const START_LIMIT_MS = 20_000;

/**
 * @param core core of the process and its threads; null: any
 * @param preload modules below the repository that a worker from source loads first; null: the built worker
 */
export function startAgentWorker(core: number | null, preload: readonly string[] | null = null): AgentWorker {
  const scratch = mkdtempSync(path.join(tmpdir(), 'footlight-worker-'));
  const pinned = core === null ? [] : ['taskset', '-c', String(core)];
  const [program = '', ...words] = [
    ...pinned,
    process.execPath,
    ...(preload === null
      ? [path.join(repositoryRoot, 'node-agent', 'dist', 'worker-main.js')]
      : [
          ...fromSource(...preload),
          path.join(repositoryRoot, 'node-agent', 'src', 'media', 'worker', 'worker-main.ts'),
        ]),
  ];
  const child: ChildProcess = spawn(program, words, {
    env: { ...process.env, FOOTLIGHT_PARENT_PID: String(process.pid) },
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  });
  const socket = child.stdio[CHANNEL_FD];
  if (!(socket instanceof Socket)) throw new Error('The worker did not start');
  // biome-ignore lint/suspicious/noExplicitAny: as onMessage.
  const messages = new EventEmitter<{ message: [any] }>();
  const channel = new MessageChannel(socket, {
    onMessage: (raw) => messages.emit('message', raw),
    onBroken: (why) => process.stderr.write(`The worker ${child.pid}: ${why}\n`),
    onClosed: () => undefined,
  });
  const said = (type: string) =>
    new Promise<void>((resolve, reject) => {
      const settle = (error?: Error) => {
        clearTimeout(limit);
        messages.off('message', hear);
        if (error) reject(error);
        else resolve();
      };
      const hear = (message: { type: string }) => message.type === type && settle();
      const limit = setTimeout(() => settle(new Error(`The worker never said ${type}`)), START_LIMIT_MS);
      messages.on('message', hear);
    });
  const send = (message: object) => channel.send(message);
  // The worker may become warm before the `await`. The handler prevents an unhandled rejection; the `await` still
  // reports a failure.
  const warm = said('warm');
  warm.catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    onMessage: (listener) => void messages.on('message', listener),
    onExit: (listener) => void child.on('exit', (code, signal) => listener(signal ?? `exit status ${code}`)),
    send,
    said,
    async begin({ display, stream, settings, addresses }) {
      await warm;
      const prepared = said('prepared');
      send({
        type: 'prepare',
        session_id: '11111111-1111-4111-8111-111111111111',
        uid: null,
        gid: null,
        display,
        xauthority: null,
        pulse_server: null,
        scratch_dir: scratch,
        stream: {
          ...stream,
          abr_floor_kbps: 0,
          codec: 'h264',
          h264_profile: 'constrained-baseline',
          playout0_ms: 50,
          audio: false,
          mic: false,
        },
        encoder: { family: 'openh264', gpu_index: 0, render_node: null },
        settings,
        media: { addresses, ports: null },
      });
      await prepared;
      send({ type: 'start' });
    },
    attach(guest) {
      const client_id = guest?.id ?? '22222222-2222-4222-8222-222222222222';
      const hello = { type: 'hello', protocol: 1, client_id, client: { kind: 'browser' }, codecs: ['h264'] };
      const person = guest === undefined ? { conn: 1 } : { conn: 2, guest };
      send({ type: 'attach', ...person, client_id, hello, ice_servers: [] });
    },
    async close() {
      await ended(child);
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}

export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
}
