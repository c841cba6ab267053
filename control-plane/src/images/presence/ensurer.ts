import { SECOND_MS, type Timer } from '@footlight/platform';
import type { Agents, CommandResult, Links } from '../../fleet/index.ts';
import type { Subscription } from '../../platform/bus/bus.ts';
import type { Platform } from '../../platform/platform.ts';
import type { InstalledRow } from '../record.ts';
import { buildOfRow, findInstalled, storeHostImage } from '../store.ts';
import { imageSubjects } from '../subjects.ts';

/** Maximum retries after the first request. */
const RETRIES = 3;
const FIRST_RETRY_MS = 30 * SECOND_MS;

/** Agent features: the agent accepts `image_ensure` (PULLS) or `image_build` (BUILDS). */
const PULLS = 'images';
const BUILDS = 'image_build';

type Wanted = Pick<InstalledRow, 'image_id' | 'version'>;

/** One request to a host to fetch an image. */
interface Ask {
  readonly version: string;
  /** Number of retries that were started. */
  retries: number;
  /** Waits for the next retry; null: no retry is waiting. */
  timer: Timer | null;
}

/**
 * Makes hosts fetch installed images: sends `image_ensure` or `image_build`, and repeats the command when the host
 * refuses it, does not answer or fails.
 *
 * States of a request: sent → accepted → (ready: deleted) | waiting for a retry → sent. The ack, reports of the host
 * and timers change the state. A request is deleted when the host's link is lost, because the next registration plans
 * again; when the image is removed or another version is requested; and after the last retry, whose reason is stored.
 *
 * With several replicas, the replica with the host's link owns the request, because it receives the host's reports.
 *
 * The images feature owns this object. The number of requests is bounded by hosts × installed images. `close` cancels
 * all timers.
 */
export class Ensurer {
  readonly #platform: Platform;
  readonly #agents: Agents;
  readonly #links: Links;
  /** Requests by host id, then by image id. */
  readonly #asks = new Map<string, Map<string, Ask>>();
  readonly #subscriptions: readonly Subscription[];
  #closed = false;

  constructor(platform: Platform, agents: Agents, links: Links) {
    this.#platform = platform;
    this.#agents = agents;
    this.#links = links;
    this.#subscriptions = [
      platform.bus.subscribe(imageSubjects.wanted, null, (image, hostId) => {
        if (links.holds(hostId)) this.ensureHere(hostId, image);
      }),
      platform.bus.subscribe(imageSubjects.removed, null, (_, imageId) => {
        for (const hostId of [...this.#asks.keys()]) this.#forget(hostId, imageId);
      }),
    ];
  }

  /** Makes a host of any replica fetch a version, unless a request for the same version is open. */
  ensure(hostId: string, { image_id, version }: Wanted): void {
    this.#platform.bus.publish(imageSubjects.wanted, hostId, { image_id, version });
  }

  /** The same for a host of this replica, also while it registers. */
  ensureHere(hostId: string, { image_id, version }: Wanted): void {
    const known = this.#asks.get(hostId)?.get(image_id);
    if (this.#closed || known?.version === version) return;
    known?.timer?.cancel();
    const ask: Ask = { version, retries: 0, timer: null };
    const ofHost = this.#asks.get(hostId) ?? new Map<string, Ask>();
    this.#asks.set(hostId, ofHost.set(image_id, ask));
    this.#send(hostId, image_id, ask);
  }

  /** Deletes all requests for the image, and sends `image_remove` to these hosts as best effort. */
  async remove(hostIds: readonly string[], imageId: string): Promise<void> {
    this.#platform.bus.publish(imageSubjects.removed, imageId, {});
    await Promise.all(
      hostIds.map((hostId) => this.#agents.command(hostId, { type: 'image_remove', image_id: imageId })),
    );
  }

  /** Called when a host reports that it has a version, or failed to get it. */
  reported(hostId: string, imageId: string, version: string, outcome: 'ready' | 'failed'): void {
    const ask = this.#asks.get(hostId)?.get(imageId);
    if (ask === undefined || ask.version !== version) return;
    if (outcome === 'ready') this.#forget(hostId, imageId);
    else void this.#retryLater(hostId, imageId, ask, null);
  }

  /** Called when the host's link is lost. */
  lost(hostId: string): void {
    for (const ask of this.#asks.get(hostId)?.values() ?? []) ask.timer?.cancel();
    this.#asks.delete(hostId);
  }

  close(): void {
    this.#closed = true;
    for (const subscription of this.#subscriptions) subscription.close();
    for (const hostId of [...this.#asks.keys()]) this.lost(hostId);
  }

  #send(hostId: string, imageId: string, ask: Ask): void {
    ask.timer = null;
    this.#ask(hostId, imageId, ask).catch((error: unknown) => {
      this.#platform.logger.error({ err: error, host_id: hostId, image_id: imageId }, 'images.ensure_failed');
      void this.#retryLater(hostId, imageId, ask, 'the control plane could not ask the host');
    });
  }

  async #ask(hostId: string, imageId: string, ask: Ask): Promise<void> {
    const installed = await findInstalled(this.#platform.database.db, imageId);
    if (installed === null || installed.version !== ask.version) return this.#drop(hostId, imageId, ask);
    const link = await this.#agents.link(hostId);
    const build = buildOfRow(installed);
    if (link === null || !link.features.includes(build === null ? PULLS : BUILDS))
      return this.#drop(hostId, imageId, ask);
    const image = { image_id: imageId, version: installed.version };
    const result = await this.#agents.command(
      hostId,
      build === null
        ? { type: 'image_ensure', ...image, registry_ref: installed.registry_ref ?? '' }
        : { type: 'image_build', ...image, ...build, local_tag: installed.local_tag ?? '' },
    );
    if (result.kind === 'ok') return;
    if (result.kind === 'not_connected') return this.#drop(hostId, imageId, ask);
    this.#links.log('info', hostId, { image_id: imageId, result }, 'images.ensure_refused');
    await this.#retryLater(hostId, imageId, ask, reasonOf(result));
  }

  /** @param reason that is stored after the last retry; null: the host has already reported the reason */
  async #retryLater(hostId: string, imageId: string, ask: Ask, reason: string | null): Promise<void> {
    if (this.#closed || !this.#isCurrent(hostId, imageId, ask) || ask.timer !== null) return;
    if (ask.retries < RETRIES) {
      const waitMs = FIRST_RETRY_MS * 2 ** ask.retries;
      ask.retries += 1;
      ask.timer = this.#platform.clock.setTimeout(() => this.#send(hostId, imageId, ask), waitMs);
      return;
    }
    this.#forget(hostId, imageId);
    if (reason === null) return;
    const row = {
      host_id: hostId,
      image_id: imageId,
      version: ask.version,
      state: 'failed' as const,
      progress_pct: null,
      error: reason.slice(0, MAX_ERROR_CHARACTERS),
      bytes: null,
      updated_at: this.#platform.clock.nowMs(),
    };
    await this.#platform.writeBatch
      .run({ hosts: [hostId] }, async (tx) => {
        const installed = await findInstalled(tx, imageId);
        if (installed?.version === ask.version) await storeHostImage(tx, row);
      })
      .catch((error: unknown) =>
        this.#platform.logger.error(
          { err: error, host_id: hostId, image_id: imageId },
          'images.ensure_failed',
        ),
      );
  }

  #isCurrent(hostId: string, imageId: string, ask: Ask): boolean {
    return this.#asks.get(hostId)?.get(imageId) === ask;
  }

  #drop(hostId: string, imageId: string, ask: Ask): void {
    if (this.#isCurrent(hostId, imageId, ask)) this.#forget(hostId, imageId);
  }

  #forget(hostId: string, imageId: string): void {
    const ofHost = this.#asks.get(hostId);
    ofHost?.get(imageId)?.timer?.cancel();
    ofHost?.delete(imageId);
    if (ofHost?.size === 0) this.#asks.delete(hostId);
  }
}

/** Longest stored reason, the same limit as for a reason from a host (`image_state.error`). */
const MAX_ERROR_CHARACTERS = 300;

function reasonOf(result: Exclude<CommandResult, { kind: 'ok' | 'not_connected' }>): string {
  switch (result.kind) {
    case 'timeout':
      return 'The host did not answer.';
    case 'not_asked':
      return 'The host could not be reached.';
    case 'refused':
      return `The host refused (${result.code}): ${result.error}`;
  }
}
