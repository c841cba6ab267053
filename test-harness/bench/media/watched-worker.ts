import type { ChannelName } from '@footlight/protocol/input';
import { ViewerConnection } from '../../src/fake-viewer/connection.ts';
import { type AgentWorker, START_LIMIT_MS, startAgentWorker, type WorkerSession } from './agent-worker.ts';

/** A media worker with a viewer that receives its pictures and does not decode them. */
export interface WatchedWorker {
  readonly pid: number;
  /** Number of pictures that have reached the viewer. */
  readonly pictures: number;
  /** Number of pictures that have reached the guest. */
  readonly guestPictures: number;
  /** Lets a guest watch too; resolves when the guest has pictures. */
  addGuest(): Promise<void>;
  /** Removes the guest. */
  removeGuest(): void;
  /** Sends on a channel of the viewer. */
  send(channel: ChannelName, message: string | Uint8Array): void;
  close(): Promise<void>;
}

const GUEST = '33333333-3333-4333-8333-333333333333';

/** A viewer's newest connection, and the pictures that it has received. */
interface Watching {
  viewer: ViewerConnection | null;
  pictures: number;
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
  const owner = answerOffers(worker, 1, onMessage);
  const guest = answerOffers(worker, 2, () => undefined);
  let version = 0;
  const allow = (ids: readonly string[]) => {
    const guests = ids.map((id) => ({ id, role: 'watch', pad_index: null, ends_in_ms: 3_600_000 }));
    worker.send({ type: 'guests', version: version++, guests });
  };
  const close = async () => {
    owner.viewer?.close();
    guest.viewer?.close();
    await worker.close();
  };
  /** Waits until a viewer is connected and gets pictures. */
  const untilWatched = async (watching: Watching) => {
    const before = watching.pictures;
    const limitMs = performance.now() + START_LIMIT_MS;
    while (watching.pictures === before || watching.viewer?.state !== 'connected') {
      if (performance.now() > limitMs) throw new Error('The viewer never saw a picture');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  try {
    // The encoder has a fixed rate, like the bare encoder of the comparison.
    await worker.begin({ display, stream, settings: { abr_mode: 'off' }, addresses: null });
    worker.attach();
    await untilWatched(owner);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    pid: worker.pid,
    get pictures() {
      return owner.pictures;
    },
    get guestPictures() {
      return guest.pictures;
    },
    async addGuest() {
      allow([GUEST]);
      worker.attach({ id: GUEST, name: 'guest' });
      await untilWatched(guest);
    },
    removeGuest: () => allow([]),
    send(channel, message) {
      const open = owner.viewer?.channels[channel];
      if (typeof message === 'string') open?.sendMessage(message);
      else open?.sendMessageBinary(message);
    },
    close,
  };
}

/** Answers each offer for a socket with a new connection. */
function answerOffers(
  worker: AgentWorker,
  conn: number,
  onMessage: (channel: ChannelName, message: string | Buffer) => void,
): Watching {
  const watching: Watching = { viewer: null, pictures: 0 };
  const signal = (msg: object) => worker.send({ type: 'signal', conn, msg });
  worker.onMessage(({ type, conn: to, msg }) => {
    if (type !== 'signal' || to !== conn) return;
    if (msg.type === 'candidate') watching.viewer?.addCandidate(msg.candidate, msg.mid);
    if (msg.type !== 'offer') return;
    const { pc_id } = msg;
    watching.viewer?.close();
    watching.viewer = new ViewerConnection(
      msg,
      [],
      {
        onAnswer: (sdp) => signal({ type: 'answer', pc_id, sdp }),
        onCandidate: (candidate, mid) => signal({ type: 'candidate', pc_id, candidate, mid }),
        onState: () => undefined,
        onOpen: () => undefined,
        onMessage,
        onRtp: (_, packet) => {
          if (((packet[1] ?? 0) & 0x80) !== 0 && ((packet[1] ?? 0) & 0x7f) >= 96) watching.pictures++;
        },
      },
      (sdp) => sdp,
    );
  });
  return watching;
}
