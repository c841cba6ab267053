/**
 * Reads and writes the files of one home for the viewers of its session, as the session's user. A disk that hangs, a
 * folder of a million names and a file that grows stop this process alone: neither the media worker, which sends the
 * picture, nor the agent. It ends with its pipe or its channel.
 */
import { randomBytes } from 'node:crypto';
import { Socket } from 'node:net';
import { FILES_BUFFER_BYTES } from '@footlight/protocol/files';
import { FilePipe } from '../media/files/file-pipe.ts';
import { openParentChannel } from '../media/worker/child-entry.ts';
import { FILES_FD, type FilesOrder, filesOrder } from './files-order.ts';
import { HomeFiles } from './home-files.ts';
import { FileTransfers, FREE_FLOOR_BYTES } from './transfers.ts';

const TOKEN_BYTES = 8;

openParentChannel({
  onMessage: (raw) => begin(filesOrder.parse(raw)),
  onBroken: () => process.exit(1),
  onClosed: () => process.exit(1),
});

function begin({ home, user, max_bytes: maxBytes }: FilesOrder): void {
  if (user !== null) {
    process.setgroups?.(user.groups);
    process.setgid?.(user.gid);
    process.setuid?.(user.uid);
  }
  process.umask(0o022);
  const files = new HomeFiles(home, () => randomBytes(TOKEN_BYTES).toString('hex'));
  const pump = () => {
    if (transfers.pump()) pipe.onDrain(pump);
  };
  const pipe = new FilePipe(new Socket({ fd: FILES_FD, readable: true, writable: true }), {
    onText: (text) => {
      transfers.text(text);
      pump();
    },
    onBinary: (data) => transfers.binary(data),
    onReset: () => transfers.cancelAll(),
    onClosed: () => {
      transfers.cancelAll();
      process.exit(0);
    },
  });
  const transfers = new FileTransfers({
    files,
    maxBytes,
    floorBytes: FREE_FLOOR_BYTES,
    send: (message) => pipe.send(message),
    canSend: () => pipe.waitingBytes < FILES_BUFFER_BYTES,
  });
}
