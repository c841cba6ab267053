import { FilesPace } from '@footlight/platform/files-pace';
import type { Timer } from '@footlight/platform/timer';
import {
  type AgentFiles,
  decodeChunk,
  encodeChunk,
  FILE_CHUNK_BYTES,
  FILES_BUFFER_BYTES,
  type FileEntry,
  type FileFailure,
  fileNames,
  isFileName,
  parseAgentFiles,
  UPLOADS_FOLDER,
  type ViewerFiles,
} from '@footlight/protocol/files';
import type { FilesLink } from '@footlight/stream-client';
import { clock } from '../../clock.ts';
import { localeTag, msg, t } from '../../i18n/translate.ts';

/** A file that is being transferred. */
export interface TransferView {
  id: number;
  kind: 'send' | 'fetch';
  name: string;
  /** size in bytes */
  size: number;
  moved: number;
  state: 'waiting' | 'running' | 'done' | 'failed';
  /** message after the end of the transfer */
  label: string;
}

/**
 * Number of transfers at a time. With two, the host still has capacity for listings, and a line is used as fully as
 * with four. Chosen, not measured.
 */
const AT_ONCE = 2;
/** Downloaded data is moved into a Blob in parts of this size, because a browser can store a Blob on disk. */
const BLOB_PART_BYTES = 8 * 1024 * 1024;
const MIB = 1024 * 1024;
/**
 * Shortest time between the requests for several files, in ms. A host closes the channel of a viewer that sends more
 * than 200 messages a second.
 */
const REQUEST_GAP_MS = 10;

export const FAILURE_LABELS: Readonly<Record<FileFailure, string>> = {
  not_found: msg('It is not there any more.'),
  not_allowed: msg('The host does not allow that.'),
  too_large: msg('It is larger than the host accepts.'),
  no_space: msg('The host has too little space left.'),
  busy: msg('Too many transfers at once. Try again in a moment.'),
  exists: msg('Too many files have this name.'),
  io: msg('It could not be read or written completely.'),
};

interface Job {
  view: TransferView;
  start(): void;
  ready?(): void;
  chunk?(data: Uint8Array): void;
  done?(path: string | undefined): void;
  stopped: boolean;
}

/**
 * Transfers files between this page and the home of the session's app, over one channel.
 *
 * A transfer is waiting → running → done or failed; cancel() removes it. Owner: the session page, one for each channel.
 * dispose() ends running transfers; the host then removes incomplete files.
 */
export class FileTransfers {
  readonly #link: FilesLink;
  readonly #onChange: (transfers: readonly TransferView[]) => void;
  readonly #save: (blob: Blob, name: string) => void;
  readonly #jobs = new Map<number, Job>();
  readonly #answers = new Map<number, (answer: AgentFiles | null) => void>();
  #nextId = 1;
  /** Limits the rate of files, because input waits in the same network queue. */
  readonly #pace = new FilesPace();
  #sending = 0;
  /** Time from which the next transfer may begin. */
  #freeAtMs = 0;
  /** Set while a transfer waits for that time. */
  #timer: Timer | null = null;
  #unfollow: (() => void) | null = null;
  #drained: (() => void)[] = [];

  /** @param save offers a downloaded file to the person */
  constructor(
    link: FilesLink,
    onChange: (transfers: readonly TransferView[]) => void,
    save: (blob: Blob, name: string) => void = saveFile,
  ) {
    this.#link = link;
    this.#onChange = onChange;
    this.#save = save;
    const { channel } = link;
    channel.binaryType = 'arraybuffer';
    channel.bufferedAmountLowThreshold = FILES_BUFFER_BYTES / 2;
    channel.onmessage = ({ data }: MessageEvent) => {
      if (typeof data === 'string') this.#text(data);
      else this.#chunk(new Uint8Array(data as ArrayBuffer));
    };
    channel.onbufferedamountlow = () => {
      for (const drained of this.#drained.splice(0)) drained();
    };
    channel.onclose = () => this.#lost();
  }

  /** Lists a folder of the home. @throws Error with a message for the person */
  async list(path: string): Promise<{ entries: FileEntry[]; truncated: boolean }> {
    requirePath(path);
    const answer = await this.#ask({ type: 'list', id: this.#id(), path });
    if (answer?.type === 'listing') return answer;
    throw new Error(labelOf(answer));
  }

  /** Deletes a file or an empty folder. @throws Error with a message for the person */
  async delete(path: string): Promise<void> {
    requirePath(path);
    const answer = await this.#ask({ type: 'delete', id: this.#id(), path });
    if (answer?.type !== 'done') throw new Error(labelOf(answer));
  }

  /**
   * Deletes files and empty folders, one after the other.
   * @returns those that could not be deleted, with the messages for the person
   */
  async deleteAll(paths: readonly string[]): Promise<Map<string, string>> {
    const failed = new Map<string, string>();
    for (const path of paths) {
      await this.delete(path).catch((error: Error) => failed.set(path, error.message));
      await new Promise<void>((resolve) => clock.setTimeout(resolve, REQUEST_GAP_MS));
    }
    return failed;
  }

  /** Gives a file or folder another name in its folder. @throws Error with a message for the person */
  async rename(path: string, name: string): Promise<void> {
    requireName(name);
    requirePath(path);
    await this.#name({ type: 'rename', id: this.#id(), path, name });
  }

  /** Makes an empty folder. @throws Error with a message for the person */
  async makeFolder(parent: string, name: string): Promise<void> {
    requireName(name);
    const path = parent === '' ? name : `${parent}/${name}`;
    requirePath(path);
    await this.#name({ type: 'mkdir', id: this.#id(), path });
  }

  /** Uploads a file to the home's folder for uploads. */
  send(file: File): void {
    const id = this.#id();
    const name = cleanName(file.name);
    const path = `${UPLOADS_FOLDER}/${name}`;
    const job = this.#add(
      { id, kind: 'send', name, size: file.size, moved: 0, state: 'waiting', label: '' },
      () => this.#write({ type: 'put', id, path, size: file.size }),
    );
    job.ready = () =>
      void this.#sendBytes(job, file).catch(() => this.#fail(job, t('This browser cannot read it.')));
    job.done = (kept) => {
      job.view.moved = file.size;
      this.#finish(job, 'done', t('It is in {path}', { path: kept ?? path }));
    };
    if (file.size > this.#link.maxFileMb * MIB)
      this.#fail(
        job,
        t('The host accepts files of up to {size}.', { size: sizeLabel(this.#link.maxFileMb * MIB) }),
      );
    else this.#next();
  }

  /** Downloads a file of the home. */
  fetch(path: string, size: number): void {
    const id = this.#id();
    const name = path.slice(path.lastIndexOf('/') + 1);
    const job = this.#add({ id, kind: 'fetch', name, size, moved: 0, state: 'waiting', label: '' }, () =>
      this.#write({ type: 'get', id, path }),
    );
    let blob = new Blob();
    let parts: BlobPart[] = [];
    let partBytes = 0;
    const pack = () => {
      blob = new Blob([blob, ...parts]);
      parts = [];
      partBytes = 0;
    };
    job.chunk = (data) => {
      // Without this limit, a hostile host that never stops sending would fill the person's disk.
      if (job.view.moved + data.length > job.view.size) {
        this.#write({ type: 'cancel', id });
        this.#fail(job, t(FAILURE_LABELS.io));
        return;
      }
      parts.push(data.slice());
      partBytes += data.length;
      if (partBytes >= BLOB_PART_BYTES) pack();
      job.view.moved += data.length;
      this.#changed();
    };
    job.done = () => {
      pack();
      this.#save(blob, name);
      this.#finish(job, 'done', t('It is in your downloads.'));
    };
    if (fileNames(path) === null) this.#fail(job, t(FAILURE_LABELS.not_allowed));
    else this.#next();
  }

  /** Stops a transfer, or removes a finished one from the list. */
  cancel(id: number): void {
    const job = this.#jobs.get(id);
    if (job === undefined) return;
    job.stopped = true;
    this.#jobs.delete(id);
    if (job.view.state === 'running') this.#write({ type: 'cancel', id });
    this.#next();
    this.#changed();
  }

  /** Removes finished transfers from the list. */
  clear(): void {
    for (const [id, { view }] of this.#jobs)
      if (view.state === 'done' || view.state === 'failed') this.#jobs.delete(id);
    this.#changed();
  }

  dispose(): void {
    this.#link.channel.onmessage = null;
    this.#link.channel.onclose = null;
    this.#lost();
  }

  async #name(message: ViewerFiles): Promise<void> {
    const answer = await this.#ask(message);
    if (answer?.type === 'done') return;
    // The general text of this code is for uploads, which try numbered copies of a name; a new name is tried once.
    if (answer?.type === 'failed' && answer.code === 'exists') throw new Error(t(TAKEN));
    throw new Error(labelOf(answer));
  }

  #add(view: TransferView, start: () => void): Job {
    const job: Job = { view, start, stopped: false };
    this.#jobs.set(view.id, job);
    this.#changed();
    return job;
  }

  #next(): void {
    const jobs = [...this.#jobs.values()];
    let free = AT_ONCE - jobs.filter(({ view }) => view.state === 'running').length;
    for (const job of jobs) {
      if (free <= 0) break;
      if (job.view.state !== 'waiting') continue;
      const nowMs = clock.monotonicMs();
      if (nowMs < this.#freeAtMs) {
        this.#timer ??= clock.setTimeout(() => {
          this.#timer = null;
          this.#next();
        }, this.#freeAtMs - nowMs);
        break;
      }
      this.#freeAtMs = nowMs + REQUEST_GAP_MS;
      free--;
      job.view.state = 'running';
      job.start();
    }
    this.#changed();
  }

  async #sendBytes(job: Job, file: File): Promise<void> {
    this.#sending++;
    // Starts at a slow rate, because on a slow line the bytes sent before the first measurement could queue for
    // seconds.
    this.#pace.heard(0, clock.monotonicMs());
    this.#unfollow ??= this.#link.followQueue((queueMs) => this.#pace.heard(queueMs, clock.monotonicMs()));
    try {
      for (let at = 0; at < file.size; at += FILE_CHUNK_BYTES) {
        const part = new Uint8Array(await file.slice(at, at + FILE_CHUNK_BYTES).arrayBuffer());
        for (let from = 0; from < part.length; ) {
          await this.#place(job);
          if (job.stopped || job.view.state !== 'running') return;
          const data = part.subarray(from, from + this.#pace.frameBytes(FILE_CHUNK_BYTES));
          this.#pace.sent(data.length, clock.monotonicMs());
          this.#link.channel.send(encodeChunk(job.view.id, data));
          from += data.length;
          job.view.moved = at + from;
        }
        this.#changed();
      }
    } finally {
      this.#sending--;
      if (this.#sending === 0) {
        this.#unfollow?.();
        this.#unfollow = null;
      }
    }
  }

  /** Waits until the rate limit and the channel accept more data, or the transfer has ended. */
  async #place(job: Job): Promise<void> {
    const { channel } = this.#link;
    while (!job.stopped && job.view.state === 'running') {
      // A hidden tab sends without the limit, because it has no input to protect, and its timers are up to a second
      // late.
      const waitMs = document.hidden ? 0 : this.#pace.waitMs(channel.bufferedAmount, clock.monotonicMs());
      if (waitMs > 0) await new Promise<void>((resolve) => clock.setTimeout(resolve, waitMs));
      else if (channel.bufferedAmount > FILES_BUFFER_BYTES - FILE_CHUNK_BYTES)
        await new Promise<void>((resolve) => this.#drained.push(resolve));
      else return;
    }
  }

  #text(frame: string): void {
    const parsed = parseAgentFiles(frame);
    if (parsed.kind !== 'message') return;
    const { message } = parsed;
    const answered = this.#answers.get(message.id);
    if (answered !== undefined) {
      this.#answers.delete(message.id);
      answered(message);
      return;
    }
    const job = this.#running(message.id);
    if (job === undefined) return;
    if (message.type === 'ready') {
      if (message.size !== undefined) job.view.size = message.size;
      job.ready?.();
      this.#changed();
    } else if (message.type === 'done') job.done?.(message.path);
    else if (message.type === 'failed') this.#fail(job, labelOf(message));
  }

  #chunk(frame: Uint8Array): void {
    const chunk = decodeChunk(frame);
    if (chunk !== null) this.#running(chunk.id)?.chunk?.(chunk.data);
  }

  /**
   * The running transfer with this id. Ignores ended ones, because a second end of a transfer would save its file
   * again.
   */
  #running(id: number): Job | undefined {
    const job = this.#jobs.get(id);
    return job?.view.state === 'running' ? job : undefined;
  }

  #fail(job: Job, label: string): void {
    this.#finish(job, 'failed', label);
  }

  #finish(job: Job, state: 'done' | 'failed', label: string): void {
    Object.assign(job.view, { state, label });
    this.#next();
  }

  #lost(): void {
    this.#timer?.cancel();
    this.#timer = null;
    for (const job of this.#jobs.values()) {
      const { state } = job.view;
      if (state === 'waiting' || state === 'running')
        Object.assign(job.view, { state: 'failed', label: t(LOST) });
    }
    for (const answered of this.#answers.values()) answered(null);
    this.#answers.clear();
    for (const drained of this.#drained.splice(0)) drained();
    this.#changed();
  }

  #ask(message: ViewerFiles): Promise<AgentFiles | null> {
    return new Promise((resolve) => {
      this.#answers.set(message.id, resolve);
      if (!this.#write(message)) this.#lost();
    });
  }

  /** @returns false: the channel is closed */
  #write(message: ViewerFiles): boolean {
    if (this.#link.channel.readyState !== 'open') return false;
    this.#link.channel.send(JSON.stringify(message));
    return true;
  }

  #id(): number {
    return this.#nextId++;
  }

  #changed(): void {
    this.#onChange([...this.#jobs.values()].map(({ view }) => ({ ...view })));
  }
}

/**
 * Refuses a path that is too long, because a host does not answer such a request. @throws Error with a message for the
 * person
 */
function requirePath(path: string): void {
  if (fileNames(path) === null) throw new Error(t(FAILURE_LABELS.not_allowed));
}

/** Refuses a name that no host accepts. @throws Error with a message for the person */
function requireName(name: string): void {
  if (!isFileName(name)) throw new Error(t('This name cannot be used. Choose a shorter one without “/”.'));
}

const TAKEN = msg('This name is taken in this folder.');
const LOST = msg('The connection was lost; the incomplete file was removed.');

function labelOf(answer: AgentFiles | null): string {
  return t(answer?.type === 'failed' ? FAILURE_LABELS[answer.code] : LOST);
}

/** "1.5 MB", in the person's number format. @param bytes never negative */
export function sizeLabel(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
  const digits = value >= 10 || unit === 0 ? 0 : 1;
  const number = value.toLocaleString(localeTag(), {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    useGrouping: false,
  });
  return `${number} ${units[unit]}`;
}

/** A file name that the host accepts. Names from other systems may contain characters that the host refuses. */
export function cleanName(name: string): string {
  if (isFileName(name)) return name;
  const clean = name.replace(/[^\p{L}\p{N} ._()-]/gu, '_').slice(-80);
  return isFileName(clean) ? clean : 'file';
}

function saveFile(blob: Blob, name: string): void {
  const link = document.createElement('a');
  const url = URL.createObjectURL(blob);
  link.href = url;
  link.download = name;
  link.click();
  // Waits two frames, after which the browser has read the URL.
  requestAnimationFrame(() => requestAnimationFrame(() => URL.revokeObjectURL(url)));
}
