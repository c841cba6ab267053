import type { Duplex, Readable } from 'node:stream';
import { type Clock, errorText, within } from '@footlight/platform';
import type Docker from 'dockerode';
import { extract } from 'tar-stream';
import { withPatience } from '../../../patience.ts';
import type { EngineAddress } from './engine-address.ts';
import { type EngineFacts, readEngineFacts } from './engine-facts.ts';
import { isImageName } from './engine-names.ts';

/**
 * Time limit of an ordinary call. An engine answers within a second, or on a busy disk within a few seconds. A launch
 * waits for the answer (10 s for the ack of an assignment). Chosen, not measured.
 */
const ANSWER_MS = withPatience(8_000);
/** Time limit for creating or removing a container, because the engine copies or removes files. */
const CHANGE_MS = withPatience(30_000);
/** Longest line of progress; longer lines are dropped. */
const LINE_BYTES = 64 * 1024;

/** A call that the engine refused, or did not answer. */
export class EngineError extends Error {
  /** @param status status of the HTTP answer; null: no answer */
  constructor(
    message: string,
    readonly status: number | null,
  ) {
    super(message);
    this.name = 'EngineError';
  }
}

export type ContainerOptions = Docker.ContainerCreateOptions & { name: string };

/** A container in a list of containers with a label. */
export interface ListedContainer {
  id: string;
  name: string;
}

/** A container as the engine reports it. */
export interface ContainerState {
  /** Id with 64 characters. */
  id: string;
  /** Process id of the first process on the engine's machine; 0: the container is not running. */
  pid: number;
  running: boolean;
  exitCode: number;
  oomKilled: boolean;
}

/** An image that the engine stores. */
export interface HeldImage {
  id: string;
  /** Size on disk. */
  bytes: number;
  /** Paths that the image declares as volumes. */
  volumes: string[];
  workingDir: string;
}

/** One line of a pull or build. */
export interface ProgressLine {
  id?: string;
  status?: string;
  stream?: string;
  error?: string;
  progressDetail?: { current?: number; total?: number };
}

/**
 * A container engine behind the Docker API of podman or docker. Every call has a time limit, except the calls that last
 * as long as a container, a pull or a build; a signal ends these.
 *
 * A restarted engine keeps its containers, so a call without an answer may still have been executed. Therefore the
 * caller chooses the names, and every removal may be repeated.
 */
export class ContainerEngine {
  readonly #docker: Docker;
  readonly #clock: Clock;

  private constructor(docker: Docker, clock: Clock) {
    this.#docker = docker;
    this.#clock = clock;
  }

  /**
   * Creates a client, which connects with the first call. Imports the library on demand, to save its memory on hosts
   * without an engine.
   */
  static async at(address: EngineAddress, clock: Clock): Promise<ContainerEngine> {
    const { default: Client } = await import('dockerode');
    const docker = new Client(
      address.kind === 'socket'
        ? { socketPath: address.path }
        : { host: address.host, port: address.port, protocol: address.protocol },
    );
    return new ContainerEngine(docker, clock);
  }

  async facts(): Promise<EngineFacts> {
    const [version, info] = await Promise.all([
      this.#call(ANSWER_MS, () => this.#docker.version()),
      this.#call(ANSWER_MS, () => this.#docker.info()),
    ]);
    return readEngineFacts(version, info, await this.#ownInfo().catch(() => null));
  }

  /** Podman's info from its own API; rejects with docker. */
  #ownInfo(): Promise<unknown> {
    return this.#call(
      ANSWER_MS,
      () =>
        new Promise((resolve, reject) => {
          this.#docker.modem.dial(
            { path: '/v4.0.0/libpod/info', method: 'GET', statusCodes: { 200: true } },
            (error: unknown, answer: unknown) => (error ? reject(error) : resolve(answer)),
          );
        }),
    );
  }

  /** @returns null: the engine does not have the image */
  async image(ref: string): Promise<HeldImage | null> {
    if (!isImageName(ref)) return null;
    const found = await this.#orMissing(() =>
      this.#call(ANSWER_MS, () => this.#docker.getImage(ref).inspect()),
    );
    if (found === null) return null;
    const { Config } = found;
    return {
      id: found.Id,
      bytes: found.Size,
      volumes: Object.keys(Config?.Volumes ?? {}),
      workingDir: Config?.WorkingDir ?? '',
    };
  }

  /** @returns false: the image does not exist. @throws EngineError 409 while a container uses it */
  async removeImage(ref: string): Promise<boolean> {
    if (!isImageName(ref)) return false;
    const removed = await this.#orMissing(() =>
      this.#call(CHANGE_MS, () => this.#docker.getImage(ref).remove({ force: false })),
    );
    return removed !== null;
  }

  /**
   * Pulls an image by digest.
   * @param onLine called for each line of progress
   * @throws EngineError when the pull fails or `signal` aborts
   */
  async pull(ref: string, signal: AbortSignal, onLine: (line: ProgressLine) => void): Promise<void> {
    const stream = await this.#begin(signal, () => this.#docker.pull(ref, { abortSignal: signal }));
    await this.#follow(stream, signal, onLine);
  }

  /**
   * Builds an image from a tar archive.
   * @throws EngineError when the build fails or `signal` aborts
   */
  async build(
    archive: Readable,
    options: Docker.ImageBuildOptions,
    signal: AbortSignal,
    onLine: (line: ProgressLine) => void,
  ): Promise<void> {
    const stream = await this.#begin(signal, () =>
      this.#docker.buildImage(archive as unknown as NodeJS.ReadableStream, {
        ...options,
        abortSignal: signal,
      }),
    );
    await this.#follow(stream, signal, onLine);
  }

  async create({ name, ...options }: ContainerOptions): Promise<void> {
    // With separate parts, the client does not put all options into the URL. podman's service logs URLs, and the
    // options contain the app's variables, which may be secrets.
    const parts = { _query: { name }, _body: options };
    await this.#call(CHANGE_MS, () => this.#docker.createContainer(parts as Docker.ContainerCreateOptions));
  }

  /**
   * Opens the output of a container from its start, in frames (output-frames.ts). The caller reads and closes the
   * stream.
   */
  async output(name: string): Promise<Duplex> {
    const stream = await this.#call(ANSWER_MS, () =>
      this.#docker
        .getContainer(name)
        .attach({ stream: true, stdout: true, stderr: true, stdin: false, hijack: true }),
    );
    return stream as Duplex;
  }

  async start(name: string): Promise<void> {
    await this.#call(CHANGE_MS, () => this.#docker.getContainer(name).start());
  }

  /** @returns false: the container is not running any more */
  async signal(name: string, signal: 'SIGTERM' | 'SIGKILL'): Promise<boolean> {
    try {
      await this.#call(ANSWER_MS, () => this.#docker.getContainer(name).kill({ signal }));
      return true;
    } catch (error) {
      // 404: the container does not exist; 409: it is not running.
      if (error instanceof EngineError && (error.status === 404 || error.status === 409)) return false;
      throw error;
    }
  }

  /**
   * Waits for the end of a container.
   * @returns the container's exit status.
   * @throws EngineError when the connection breaks
   */
  async wait(name: string, signal: AbortSignal): Promise<number> {
    const { StatusCode } = (await this.#begin(signal, () =>
      this.#docker.getContainer(name).wait({ abortSignal: signal }),
    )) as { StatusCode: number };
    return StatusCode;
  }

  /** @returns null: the container does not exist */
  async state(name: string): Promise<ContainerState | null> {
    const found = await this.#orMissing(() =>
      this.#call(ANSWER_MS, () => this.#docker.getContainer(name).inspect()),
    );
    if (found === null) return null;
    const { Running, ExitCode, OOMKilled, Pid } = found.State;
    return { id: found.Id, pid: Pid, running: Running, exitCode: ExitCode, oomKilled: OOMKilled };
  }

  /**
   * A small file in a container, as text.
   * @returns null: the file does not exist
   * @throws EngineError if the file is not regular, or has more than `maxBytes`
   */
  async textFile(name: string, path: string, maxBytes: number): Promise<string | null> {
    return this.#orMissing(() =>
      this.#call(ANSWER_MS, async () => {
        const archive = (await this.#docker.getContainer(name).getArchive({ path })) as Readable;
        const entries = extract();
        archive.on('error', (error) => entries.destroy(error));
        try {
          for await (const entry of archive.pipe(entries)) {
            const { type, size = 0 } = entry.header;
            if (type !== 'file' || size > maxBytes) break;
            const parts: Buffer[] = [];
            for await (const part of entry) parts.push(part as Buffer);
            return Buffer.concat(parts).toString('utf8');
          }
        } finally {
          // Destroyed, because the unread rest of a long file would keep the connection open.
          archive.destroy();
        }
        throw new EngineError(`${path} of the image is no regular file of at most ${maxBytes} bytes`, null);
      }),
    );
  }

  /** Kills and removes a container and its anonymous volumes. Repeatable. */
  async remove(name: string): Promise<void> {
    await this.#orMissing(() =>
      this.#call(CHANGE_MS, () => this.#docker.getContainer(name).remove({ force: true, v: true })),
    );
  }

  /** Containers with this label, running or not. */
  async listed(label: string): Promise<ListedContainer[]> {
    const rows = await this.#call(ANSWER_MS, () =>
      this.#docker.listContainers({ all: true, filters: { label: [label] } }),
    );
    return rows.map(({ Id, Names }) => ({ id: Id, name: (Names[0] ?? '').replace(/^\//, '') }));
  }

  /** Creates a volume, or finds the existing one. @returns its directory on this host */
  async volume(name: string, labels: Record<string, string>): Promise<string> {
    await this.#call(ANSWER_MS, () => this.#docker.createVolume({ Name: name, Labels: labels }));
    const { Mountpoint } = await this.#call(ANSWER_MS, () => this.#docker.getVolume(name).inspect());
    return Mountpoint;
  }

  /** @returns false: the volume does not exist. @throws EngineError 409 while a container uses it */
  async removeVolume(name: string): Promise<boolean> {
    const removed = await this.#orMissing(() =>
      this.#call(CHANGE_MS, async () => {
        await this.#docker.getVolume(name).remove();
        return true;
      }),
    );
    return removed !== null;
  }

  async #call<T>(limitMs: number, call: () => Promise<T>): Promise<T> {
    const late = new EngineError(`the container engine did not answer within ${limitMs / 1000} s`, null);
    const result = await within(
      this.#clock,
      limitMs,
      call().then(
        (value) => ({ value }),
        (error: unknown) => ({ error: engineError(error) }),
      ),
      { error: late },
    );
    if ('error' in result) throw result.error;
    return result.value;
  }

  /** Starts a call without its own time limit; the caller limits the time. */
  async #begin<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      throw signal.aborted ? aborted(signal) : engineError(error);
    }
  }

  async #orMissing<T>(call: () => Promise<T>): Promise<T | null> {
    try {
      return await call();
    } catch (error) {
      if (error instanceof EngineError && error.status === 404) return null;
      throw error;
    }
  }

  /** Reads lines of JSON to the end of the stream. @throws EngineError when a line contains an error */
  async #follow(
    stream: NodeJS.ReadableStream,
    signal: AbortSignal,
    onLine: (line: ProgressLine) => void,
  ): Promise<void> {
    let rest = '';
    let failure: string | null = null;
    try {
      for await (const chunk of stream) {
        const lines = (rest + chunk.toString()).split('\n');
        rest = (lines.pop() ?? '').slice(0, LINE_BYTES);
        for (const text of lines) {
          const line = progressLine(text);
          if (line === null) continue;
          if (typeof line.error === 'string') failure = line.error;
          onLine(line);
        }
      }
    } catch (error) {
      throw signal.aborted ? aborted(signal) : engineError(error);
    }
    const last = progressLine(rest);
    if (last !== null) onLine(last);
    if (typeof last?.error === 'string') failure = last.error;
    if (signal.aborted) throw aborted(signal);
    if (failure !== null) throw new EngineError(errorText(failure, 300), null);
  }
}

function progressLine(text: string): ProgressLine | null {
  if (text.trim() === '') return null;
  try {
    const line: unknown = JSON.parse(text);
    return typeof line === 'object' && line !== null ? (line as ProgressLine) : null;
  } catch {
    return null;
  }
}

function aborted(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new EngineError('given up', null);
}

function engineError(error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  const status = (error as { statusCode?: unknown }).statusCode;
  const said = (error as { json?: { message?: unknown; cause?: unknown } }).json?.message;
  return new EngineError(
    errorText(typeof said === 'string' ? said : error, 300),
    typeof status === 'number' ? status : null,
  );
}
