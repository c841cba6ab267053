/**
 * Reads and writes the files of one home for the viewers of its session, as the session's user. A disk that hangs, a
 * folder of a million names and a file that grows stop this process alone: neither the media worker, which sends the
 * picture, nor the agent. It ends with its pipe or its channel.
 */
import { randomBytes } from 'node:crypto';
import { Socket } from 'node:net';
import { confineProcess } from '@footlight/gst';
import { FILES_BUFFER_BYTES } from '@footlight/protocol/files';
import { FilePipe } from '../media/files/file-pipe.ts';
import { openParentChannel } from '../media/worker/child-entry.ts';
import { appFilter } from '../runtime/confinement/seccomp.ts';
import { FILES_FD, type FilesOrder, filesOrder } from './files-order.ts';
import { HomeFiles } from './home-files.ts';
import { FileTransfers, FREE_FLOOR_BYTES } from './transfers.ts';

const TOKEN_BYTES = 8;
/** Chunks stop at half of it, so that it is reached by answers alone, and a fetch does not hold up its own cancel. */
const MAX_WAITING_BYTES = 2 * FILES_BUFFER_BYTES;

/** Removes what is not whole; an end in the middle of a transfer leaves nothing. */
let cancel = () => undefined;

openParentChannel({
  onMessage: (raw) => begin(filesOrder.parse(raw)),
  onBroken: () => end(1),
  onClosed: () => end(1),
});
process.once('SIGTERM', () => end(0));

function end(status: number): never {
  cancel();
  process.exit(status);
}

function begin({ home, user, max_bytes: maxBytes }: FilesOrder): void {
  if (user !== null) {
    process.setgroups?.(user.groups);
    process.setgid?.(user.gid);
    process.setuid?.(user.uid);
  }
  process.umask(0o022);
  // As of apps: what is read here comes from an app and a viewer.
  confineProcess(appFilter(false));
  const files = new HomeFiles(home, () => randomBytes(TOKEN_BYTES).toString('hex'));
  let isWaiting = false;
  const pump = () => {
    const hasMore = transfers.pump();
    // A request of 40 bytes can have an answer of 120 kB: a viewer that reads none gets no further ones.
    if (pipe.waitingBytes > MAX_WAITING_BYTES) pipe.pause();
    else if (!hasMore) return;
    if (isWaiting) return;
    isWaiting = true;
    pipe.onDrain(() => {
      isWaiting = false;
      pump();
      if (pipe.waitingBytes <= MAX_WAITING_BYTES) pipe.resume();
    });
  };
  const pipe = new FilePipe(new Socket({ fd: FILES_FD, readable: true, writable: true }), {
    onText: (text) => {
      transfers.text(text);
      pump();
    },
    onBinary: (data) => transfers.binary(data),
    onReset: () => {
      transfers.cancelAll();
      pipe.reset();
    },
    onClosed: () => end(0),
  });
  const transfers = new FileTransfers({
    files,
    maxBytes,
    floorBytes: FREE_FLOOR_BYTES,
    send: (message) => pipe.send(message),
    canSend: () => pipe.waitingBytes < FILES_BUFFER_BYTES,
  });
  cancel = () => void transfers.cancelAll();
}
