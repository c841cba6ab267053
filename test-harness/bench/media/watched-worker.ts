import type { ChannelName } from '@footlight/protocol/input';
import { ViewerConnection } from '../../src/fake-viewer/connection.ts';
import { START_LIMIT_MS, startAgentWorker, type WorkerSession } from './agent-worker.ts';

/** A media worker with a viewer that receives its pictures and does not decode them. */
export interface WatchedWorker {
  readonly pid: number;
  /** Number of pictures that have reached the viewer. */
  readonly pictures: number;
  /** Sends on a channel of the viewer. */
  send(channel: ChannelName, message: string | Uint8Array): void;
  close(): Promise<void>;
}

export interface WatchedWorkerOptions {
  display: string;
  core: number;
  stream: WorkerSession['stream'];
  /** see startAgentWorker */
  preload?: readonly string[];
  onMessage?(channel: ChannelName, message: string | Buffer): void;
}

/**
 * @returns after the viewer has pictures and channels
 * @throws when they do not arrive in time
 */
export async function startWatchedWorker(options: WatchedWorkerOptions): Promise<WatchedWorker> {
  const { display, core, stream, preload = null, onMessage = () => undefined } = options;
  const worker = startAgentWorker(core, preload);
  let pictures = 0;
  let viewer: ViewerConnection | null = null;
  const signal = (msg: object) => worker.send({ type: 'signal', conn: 1, msg });
  worker.onMessage(({ type, msg }) => {
    if (type !== 'signal') return;
    if (msg.type === 'candidate') viewer?.addCandidate(msg.candidate, msg.mid);
    if (msg.type !== 'offer') return;
    const { pc_id } = msg;
    viewer = new ViewerConnection(
      msg,
      [],
      {
        onAnswer: (sdp) => signal({ type: 'answer', pc_id, sdp }),
        onCandidate: (candidate, mid) => signal({ type: 'candidate', pc_id, candidate, mid }),
        onState: () => undefined,
        onOpen: () => undefined,
        onMessage,
        onRtp: (_, packet) => {
          if (((packet[1] ?? 0) & 0x80) !== 0 && ((packet[1] ?? 0) & 0x7f) >= 96) pictures++;
        },
      },
      (sdp) => sdp,
    );
  });
  const close = async () => {
    viewer?.close();
    await worker.close();
  };
  try {
    // The encoder has a fixed rate, like the bare encoder of the comparison.
    await worker.begin({ display, stream, settings: { abr_mode: 'off' }, addresses: null });
    worker.attach();
    const limitMs = performance.now() + START_LIMIT_MS;
    const isWatched = () => pictures > 0 && viewer?.state === 'connected';
    while (!isWatched()) {
      if (performance.now() > limitMs) throw new Error('The viewer never saw a picture');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    pid: worker.pid,
    get pictures() {
      return pictures;
    },
    send(channel, message) {
      const open = viewer?.channels[channel];
      if (typeof message === 'string') open?.sendMessage(message);
      else open?.sendMessageBinary(message);
    },
    close,
  };
}
