/**
 * Reads and writes the files of one home for the viewers of its session, as the session's user. A separate process,
 * because a hanging disk, a folder with a million names or a growing file would otherwise block the agent, or the media
 * worker, which sends the picture. The process exits when its pipe or channel closes.
 */
import { randomBytes } from 'node:crypto';
import { Socket } from 'node:net';
import { confineProcess } from '@footlight/gst/seccomp';
import { FILES_BUFFER_BYTES } from '@footlight/protocol/files';
import { FilePipe } from '../media/files/file-pipe.ts';
import { openParentChannel } from '../media/worker/child-entry.ts';
import { appFilter } from '../runtime/confinement/seccomp.ts';
import { FILES_FD, type FilesOrder, filesOrder } from './files-order.ts';
import { HomeFiles } from './home-files.ts';
import { FileTransfers, FREE_FLOOR_BYTES } from './transfers.ts';

const TOKEN_BYTES = 8;
/**
 * While more than this number of bytes waits to be sent, no further requests are read. Chunks of a fetch fill at most
 * half of it, so a fetch never delays the request that cancels it.
 */
const MAX_WAITING_BYTES = 2 * FILES_BUFFER_BYTES;

/** Removes unfinished files, so that an exit during a transfer leaves no partial file. */
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
  // The same seccomp filter as for apps, because this process handles untrusted data from an app and a viewer.
  confineProcess(appFilter(false));
  const files = new HomeFiles(home, () => randomBytes(TOKEN_BYTES).toString('hex'));
  let isWaiting = false;
  const pump = () => {
    const hasMore = transfers.pump();
    // A request of 40 bytes can cause an answer of 120 kB. So requests of a viewer that does not read its answers are
    // not read either.
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
