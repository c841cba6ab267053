import { closeSync, readSync, writeSync } from 'node:fs';
import {
  type AgentFiles,
  decodeChunk,
  encodeChunk,
  FILE_CHUNK_BYTES,
  type FileFailure,
  MAX_FILE_TRANSFERS,
  parseViewerFiles,
  type ViewerFiles,
} from '@footlight/protocol/files';
import { FileRefusal, type HomeFiles, type NewFile } from './home-files.ts';

/** Free disk space in bytes that a transfer must leave; recordings must leave the same amount. Chosen, not measured. */
export const FREE_FLOOR_BYTES = 1024 ** 3;

export interface FileTransfersOptions {
  files: HomeFiles;
  /** Largest file in bytes. */
  maxBytes: number;
  floorBytes: number;
  send(message: string | Uint8Array): void;
  /** Whether the channel accepts a further chunk. If not, pump() is called again later. */
  canSend(): boolean;
}

type Transfer = { kind: 'put'; file: NewFile; left: number } | { kind: 'get'; fd: number; left: number };

/**
 * The file transfers of one viewer: turns messages into answers and chunks. Every request gets exactly one final answer
 * (listing, done or failed), but none after it was cancelled.
 *
 * none → running (put: until its bytes arrived; get: until they were sent) → ended. Owner: the file process.
 * cancelAll() removes unfinished files.
 */
export class FileTransfers {
  readonly #options: FileTransfersOptions;
  readonly #running = new Map<number, Transfer>();

  constructor(options: FileTransfersOptions) {
    this.#options = options;
  }

  /** Handles a text message of the channel. Malformed messages are dropped. */
  text(frame: string): void {
    const parsed = parseViewerFiles(frame);
    if (parsed.kind !== 'message') return;
    const { message } = parsed;
    try {
      this.#begin(message);
    } catch (error) {
      this.#fail(message.id, error);
    }
  }

  /**
   * Handles a binary message of the channel. Bytes without a running transfer are dropped, because their transfer was
   * cancelled.
   */
  binary(frame: Uint8Array): void {
    const chunk = decodeChunk(frame);
    const transfer = chunk && this.#running.get(chunk.id);
    if (chunk === null || transfer?.kind !== 'put') return;
    try {
      if (chunk.data.length > transfer.left) throw new FileRefusal('too_large');
      writeAll(transfer.file.fd, chunk.data);
      transfer.left -= chunk.data.length;
      if (transfer.left === 0) this.#keep(chunk.id, transfer.file);
    } catch (error) {
      this.#fail(chunk.id, error);
    }
  }

  /** Sends chunks of all transfers in turn while the channel accepts them. @returns whether more chunks wait */
  pump(): boolean {
    for (;;) {
      const gets = [...this.#running].flatMap(([id, each]) => (each.kind === 'get' ? [{ id, each }] : []));
      if (gets.length === 0) return false;
      for (const { id, each } of gets) {
        if (!this.#options.canSend()) return true;
        try {
          this.#sendChunk(id, each);
        } catch (error) {
          this.#fail(id, error);
        }
      }
    }
  }

  cancelAll(): void {
    for (const id of [...this.#running.keys()]) this.#end(id);
  }

  #begin(message: ViewerFiles): void {
    const { files, maxBytes } = this.#options;
    const { id } = message;
    if (message.type === 'cancel') {
      this.#end(id);
      return;
    }
    if (message.type === 'list') {
      this.#answer({ type: 'listing', id, ...files.list(message.path) });
      return;
    }
    if (message.type === 'delete') {
      files.delete(message.path);
      this.#answer({ type: 'done', id });
      return;
    }
    if (message.type === 'rename') {
      files.rename(message.path, message.name);
      this.#answer({ type: 'done', id });
      return;
    }
    if (message.type === 'mkdir') {
      // A folder takes a block of the disk, and a viewer could make many.
      this.#requireSpace(0);
      files.makeFolder(message.path);
      this.#answer({ type: 'done', id });
      return;
    }
    if (this.#running.size >= MAX_FILE_TRANSFERS || this.#running.has(id)) throw new FileRefusal('busy');
    if (message.type === 'get') {
      const { fd, size } = files.open(message.path);
      if (size > maxBytes) {
        closeSync(fd);
        throw new FileRefusal('too_large');
      }
      this.#running.set(id, { kind: 'get', fd, left: size });
      this.#answer({ type: 'ready', id, size });
      return;
    }
    if (message.size > maxBytes) throw new FileRefusal('too_large');
    this.#requireSpace(message.size);
    const file = files.create(message.path);
    this.#running.set(id, { kind: 'put', file, left: message.size });
    this.#answer({ type: 'ready', id });
    if (message.size === 0) this.#keep(id, file);
  }

  /** Refuses a request that would leave too little space after the running transfers. */
  #requireSpace(bytes: number): void {
    const { files, floorBytes } = this.#options;
    const promised = [...this.#running.values()].reduce(
      (sum, each) => sum + (each.kind === 'put' ? each.left : 0),
      0,
    );
    if (files.freeBytes() - promised - bytes < floorBytes) throw new FileRefusal('no_space');
  }

  #keep(id: number, file: NewFile): void {
    const path = file.keep();
    this.#running.delete(id);
    this.#answer({ type: 'done', id, path });
  }

  #sendChunk(id: number, transfer: Extract<Transfer, { kind: 'get' }>): void {
    if (transfer.left > 0) {
      const chunk = Buffer.alloc(Math.min(FILE_CHUNK_BYTES, transfer.left));
      const read = readSync(transfer.fd, chunk, 0, chunk.length, null);
      // The app has truncated the file since it was opened.
      if (read === 0) throw new FileRefusal('io');
      transfer.left -= read;
      this.#options.send(encodeChunk(id, chunk.subarray(0, read)));
    }
    if (transfer.left > 0) return;
    this.#end(id);
    this.#answer({ type: 'done', id });
  }

  #fail(id: number, error: unknown): void {
    // A second request with the same number is refused as busy and must not end the first request.
    const code = failureOf(error);
    if (code !== 'busy') this.#end(id);
    this.#answer({ type: 'failed', id, code });
  }

  #end(id: number): void {
    const transfer = this.#running.get(id);
    this.#running.delete(id);
    if (transfer?.kind === 'put') transfer.file.discard();
    else if (transfer) closeSync(transfer.fd);
  }

  #answer(message: AgentFiles): void {
    this.#options.send(JSON.stringify(message));
  }
}

function writeAll(fd: number, data: Uint8Array): void {
  for (let at = 0; at < data.length; ) at += writeSync(fd, data, at);
}

const FAILURES: Readonly<Record<string, FileFailure>> = {
  ENOENT: 'not_found',
  ENOTDIR: 'not_found',
  EEXIST: 'exists',
  EACCES: 'not_allowed',
  EPERM: 'not_allowed',
  ELOOP: 'not_allowed',
  ENOTEMPTY: 'not_allowed',
  ENXIO: 'not_allowed',
  ENAMETOOLONG: 'not_allowed',
  EROFS: 'not_allowed',
  ENOSPC: 'no_space',
  EDQUOT: 'no_space',
  EFBIG: 'too_large',
};

function failureOf(error: unknown): FileFailure {
  if (error instanceof FileRefusal) return error.code;
  return FAILURES[(error as NodeJS.ErrnoException).code ?? ''] ?? 'io';
}
