import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, errorText, type Logger } from '@footlight/platform';
import { cutUtf8 } from '@footlight/protocol';
import type { ControlCommand, ImageState, Register } from '@footlight/protocol/agent';
import type { Dispatcher } from 'undici';
import type { CommandAnswer } from '../link/ack-store.ts';
import type { ReliableMessage } from '../link/outbox.ts';
import { type ContainerEngine, EngineError } from '../runtime/container/engine/engine.ts';
import type { EngineHost } from '../runtime/container/engine/engine-host.ts';
import { type FreeBytes, freeBytesOf, type ImagePulls, isPinned } from '../runtime/container/image-pulls.ts';
import { writeBuildContext } from './build-context.ts';
import { contextUrl, downloadContext } from './context-download.ts';
import { type ImageRecord, ImageRecords, MAX_RECORDS } from './image-records.ts';

export type ImageCommand = Extract<ControlCommand, { type: 'image_ensure' | 'image_build' | 'image_remove' }>;
type Ensure = Extract<ImageCommand, { type: 'image_ensure' }>;
type Build = Extract<ImageCommand, { type: 'image_build' }>;

/** Progress is reported at most once per interval, and in steps of 5 %. */
const PROGRESS_MS = 2_000;
const PROGRESS_STEP = 5;
/** Free disk space that a build needs at its start. */
const BUILD_FREE_BYTES = 20 * 1024 ** 3;
/** Largest number of waiting commands. A control plane sends one command per image and version. */
const MAX_WAITING = 512;
const BUILDS = 'builds';
const OK: CommandAnswer = { ok: true };

export interface HostImagesDeps {
  stateDir: string;
  /** Value of SERVICE_IMAGE_SOURCE_HOSTS. */
  sourceHosts: readonly string[];
  host: EngineHost;
  pulls: ImagePulls;
  clock: Clock;
  logger: Logger;
  report(message: ReliableMessage): void;
  /** Sends the progress; the message may be lost. */
  progress(message: ImageState): void;
  freeBytes?: FreeBytes;
  /** Used to download contexts. Tests pass one with their own certificates. */
  dispatcher?: Dispatcher;
}

/** The reported state of an image, without its name. */
type Told = Pick<ImageState, 'state' | 'progress_pct' | 'bytes' | 'error'>;

/**
 * Manages the catalog's images on this host: it pulls, builds and removes them on the control plane's commands, one at
 * a time, and reports the progress.
 *
 *   absent → pulling | building → ready | failed
 *
 * A removal leads to `absent`, or to `failed` while a container uses the image.
 */
export class HostImages {
  readonly #deps: HostImagesDeps;
  readonly #records: ImageRecords;
  readonly #freeBytes: FreeBytes;
  /** Last reported state of each image that is being pulled or built, by image id and version. */
  readonly #inWork = new Map<string, Told>();
  /**
   * Unfinished commands by image id and version. A repeated command joins the earlier command, unless a removal was
   * queued in between.
   */
  readonly #joinable = new Map<string, { imageId: string }>();
  #queue: Promise<void> = Promise.resolve();
  #waiting = 0;
  readonly #closing = new AbortController();
  /** References of the images that the engine stored at the last check; null: the engine did not answer. */
  #present: Set<string> | null = null;

  private constructor(deps: HostImagesDeps, records: ImageRecords) {
    this.#deps = deps;
    this.#records = records;
    this.#freeBytes = deps.freeBytes ?? freeBytesOf;
  }

  /** Removes files that builds of a former agent process left. */
  static async open(deps: HostImagesDeps): Promise<HostImages> {
    await rm(join(deps.stateDir, BUILDS), { recursive: true, force: true });
    return new HostImages(deps, await ImageRecords.open(deps.stateDir));
  }

  /** Accepts or refuses a command. The work of an accepted command runs later. */
  command(command: ImageCommand): CommandAnswer {
    const refusal = this.#refusal(command);
    if (refusal !== null) return { ok: false, ...refusal };
    if (this.#waiting >= MAX_WAITING) return { ok: false, code: 'busy', error: 'too many images wait' };
    if (command.type === 'image_remove') {
      // Commands that arrive after this removal must run after it, so they must not join a pull or build that is
      // already running.
      for (const [key, { imageId }] of this.#joinable)
        if (imageId === command.image_id) this.#joinable.delete(key);
      this.#enqueue(() => this.#remove(command.image_id));
      return OK;
    }
    const key = keyOf(command);
    const state = command.type === 'image_ensure' ? 'pulling' : 'building';
    const told = this.#inWork.get(key) ?? { state };
    if (this.#joinable.has(key)) {
      this.#tell(command, told);
      return OK;
    }
    const order = { imageId: command.image_id };
    this.#joinable.set(key, order);
    this.#inWork.set(key, told);
    this.#enqueue(() =>
      this.#make(command).finally(() => {
        this.#inWork.delete(key);
        if (this.#joinable.get(key) === order) this.#joinable.delete(key);
      }),
    );
    return OK;
  }

  /** The catalog's images that the engine stored at the last check(); undefined: the engine did not answer. */
  get held(): Register['images'] {
    if (this.#present === null) return undefined;
    const present = this.#present;
    const rows = new Map<string, NonNullable<Register['images']>[number]>();
    for (const record of this.#records.all()) {
      const { image_id, version, ref, state } = record;
      if (state === 'failed') rows.set(image_id, { image_id, version, state });
      else if (present.has(ref)) rows.set(image_id, { image_id, version, state: 'ready' });
    }
    for (const [key, { state }] of this.#inWork) {
      const [image_id, version] = JSON.parse(key) as [string, string];
      if (state === 'pulling' || state === 'building') rows.set(image_id, { image_id, version, state });
    }
    return [...rows.values()].slice(0, MAX_RECORDS);
  }

  /**
   * Queries which of the images the engine still stores, because an administrator may have removed one by hand. Never
   * throws.
   */
  async check(): Promise<void> {
    try {
      const engine = await this.#deps.host.engine();
      const refs = this.#records.all().map(({ ref }) => ref);
      const found = await Promise.all(
        refs.map(async (ref) => ((await engine.image(ref)) === null ? [] : [ref])),
      );
      this.#present = new Set(found.flat());
    } catch {
      this.#present = null;
    }
  }

  /** Stops the running work. After the next registration, the control plane sends unfinished commands again. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#records.saved;
  }

  #refusal(command: ImageCommand): { code: 'invalid' | 'policy'; error: string } | null {
    const invalid = (error: string) => ({ code: 'invalid' as const, error });
    if (command.type === 'image_ensure') {
      if (isPinned(command.registry_ref)) return null;
      return invalid(`registry_ref must be name@sha256:<64 hex>: ${command.registry_ref}`);
    }
    if (command.type === 'image_remove') return null;
    const { image_id, version, local_tag, dockerfile } = command;
    if (
      local_tag !== `service-local/${image_id}:${version}` ||
      !/^service-local\/[a-z0-9][a-z0-9._/-]*:[\w][\w.-]{0,127}$/.test(local_tag)
    )
      return invalid(
        `local_tag must be service-local/${image_id}:${version}, in the form of an image's name`,
      );
    if (dockerfile.startsWith('/') || dockerfile.split('/').includes('..'))
      return invalid(`dockerfile leaves the context: ${dockerfile}`);
    try {
      contextUrl(command.context_url, this.#deps.sourceHosts);
      return null;
    } catch (error) {
      return { code: 'policy', error: errorText(error, 300) };
    }
  }

  #enqueue(work: () => Promise<void>): void {
    this.#waiting += 1;
    this.#queue = this.#queue.then(async () => {
      this.#waiting -= 1;
      if (this.#closing.signal.aborted) return;
      await work().catch((error) => this.#deps.logger.error({ error: errorText(error) }, 'image.failed'));
    });
  }

  async #make(command: Ensure | Build): Promise<void> {
    const { image_id, version } = command;
    const ref = command.type === 'image_ensure' ? command.registry_ref : command.local_tag;
    const former = this.#records.get(image_id);
    try {
      const engine = await this.#deps.host.engine();
      if (
        (await engine.image(ref)) === null ||
        (command.type === 'image_build' && former?.version !== version)
      ) {
        this.#tell(command, {
          state: command.type === 'image_ensure' ? 'pulling' : 'building',
          progress_pct: 0,
        });
        if (command.type === 'image_ensure') await this.#pull(command);
        else await this.#build(command, engine);
      }
      const held = await engine.image(ref);
      if (held === null) throw new Error(`the engine does not hold ${ref}`);
      this.#records.put({ image_id, version, ref, state: 'ready' });
      this.#present?.add(ref);
      this.#tell(command, { state: 'ready', bytes: held.bytes });
      if (former !== undefined && former.ref !== ref) await this.#drop(engine, former);
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      const why = cutUtf8(errorText(error, 300), 300);
      // A failed update keeps the record of the former version, so that sessions can still use it.
      if (former === undefined) this.#records.put({ image_id, version, ref, state: 'failed' });
      this.#deps.logger.warn({ image_id, version, error: why }, 'image.failed');
      this.#tell(command, { state: 'failed', error: why });
    }
  }

  async #pull(command: Ensure): Promise<void> {
    const progress = this.#throttled(command, 'pulling');
    await this.#deps.pulls.wait(command.registry_ref, progress, this.#closing.signal);
  }

  async #build(command: Build, engine: ContainerEngine): Promise<void> {
    const { stateDir, host, pulls, sourceHosts, dispatcher } = this.#deps;
    const { facts } = await host.open();
    for (const path of [facts.storeDir, stateDir]) {
      const free = path === null ? null : await this.#freeBytes(path);
      if (free !== null && free < BUILD_FREE_BYTES)
        throw new Error(`${path} has ${(free / 1024 ** 3).toFixed(1)} GiB free, and 20 GiB are needed`);
    }
    await mkdir(join(stateDir, BUILDS), { recursive: true, mode: 0o700 });
    const folder = await mkdtemp(join(stateDir, BUILDS, 'build-'));
    try {
      await pulls.guarded(facts.storeDir, async (signal, heard) => {
        const archive = join(folder, 'archive');
        const context = join(folder, 'context.tar');
        await downloadContext(command.context_url, archive, {
          hosts: sourceHosts,
          signal,
          heard,
          ...(dispatcher ? { dispatcher } : {}),
        });
        await writeBuildContext(archive, context, command.context_subdir);
        const progress = this.#throttled(command, 'building');
        await engine.build(
          createReadStream(context),
          {
            t: command.local_tag,
            dockerfile: command.dockerfile,
            buildargs: command.build_args as unknown as Record<string, string>,
            rm: true,
            forcerm: true,
          },
          signal,
          ({ stream }) => {
            heard();
            const percent = stepPercent(stream);
            if (percent !== null) progress(percent);
          },
        );
      });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async #remove(imageId: string): Promise<void> {
    const record = this.#records.get(imageId);
    if (record === undefined) {
      this.#tell({ image_id: imageId, version: '' }, { state: 'absent' });
      return;
    }
    try {
      const engine = await this.#deps.host.engine();
      if (!this.#isOfAnother(record)) await engine.removeImage(record.ref);
      this.#records.delete(imageId);
      this.#tell(record, { state: 'absent' });
    } catch (error) {
      const why = isInUse(error) ? 'a session uses it' : errorText(error, 300);
      this.#tell(record, { state: 'failed', error: cutUtf8(why, 300) });
    }
  }

  /** Removes a former version from the engine, unless a container uses it. */
  async #drop(engine: ContainerEngine, former: ImageRecord): Promise<void> {
    if (this.#isOfAnother(former)) return;
    try {
      await engine.removeImage(former.ref);
    } catch (error) {
      this.#deps.logger.info({ image: former.ref, error: errorText(error) }, 'image.kept');
    }
  }

  /** Whether another image of the catalog has the same ref in the engine. */
  #isOfAnother({ image_id, ref }: ImageRecord): boolean {
    return this.#records.all().some((other) => other.image_id !== image_id && other.ref === ref);
  }

  #throttled(image: { image_id: string; version: string }, state: 'pulling' | 'building') {
    let last = { percent: 0, atMs: this.#deps.clock.monotonicMs() };
    return (percent: number) => {
      const atMs = this.#deps.clock.monotonicMs();
      if (percent - last.percent < PROGRESS_STEP || atMs - last.atMs < PROGRESS_MS) return;
      last = { percent, atMs };
      const { image_id, version } = image;
      const told: Told = { state, progress_pct: percent };
      this.#inWork.set(keyOf(image), told);
      this.#deps.progress({ type: 'image_state', image_id, version, ...told });
    };
  }

  #tell({ image_id, version }: { image_id: string; version: string }, told: Told): void {
    if (told.state === 'pulling' || told.state === 'building')
      this.#inWork.set(keyOf({ image_id, version }), told);
    this.#deps.report({ type: 'image_state', image_id, version, ...told });
  }
}

function keyOf({ image_id, version }: { image_id: string; version: string }): string {
  return JSON.stringify([image_id, version]);
}

/** Status 409 of the engine: a container uses the image. */
function isInUse(error: unknown): boolean {
  return error instanceof EngineError && error.status === 409;
}

/**
 * Percentage of the build that is complete when the step in this line of output begins: "STEP 3/8: RUN …" of podman,
 * "Step 3/8 : RUN …" of docker.
 */
function stepPercent(stream: unknown): number | null {
  const [, at, all] = /^step (\d{1,4})\/(\d{1,4})/i.exec(typeof stream === 'string' ? stream : '') ?? [];
  if (at === undefined || all === undefined || Number(all) === 0) return null;
  return Math.min(99, Math.floor((100 * (Number(at) - 1)) / Number(all)));
}
