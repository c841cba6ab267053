import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '@footlight/platform';
// biome-ignore lint/style/noRestrictedImports: fixtures of tests, which may use the harness.
import * as harness from '@footlight/test-harness';
import { expect, vi } from 'vitest';

/** Wait of a page before it connects again. */
const RECONNECT_MS = 250;
/** Frames after which a picture counts as moving: one second. */
const FIRST_FRAMES = 30;

interface Watched {
  readonly viewer: harness.FakeViewer;
  readonly sessionId: string;
  /** Monotonic time. */
  newestFrameMs: number;
}

/**
 * Viewers of sessions of fake hosts, with real media between viewer and host. A viewer keeps its media connection when
 * its WebSocket is lost, and connects again like a page.
 *
 * Teardown: `close` ends viewers and pictures.
 */
export class WatchingViewers {
  readonly #pictures = new harness.Pictures();
  readonly #watched: Watched[] = [];
  readonly #access: (sessionId: string) => Promise<harness.ViewerAccess>;
  readonly #stays: Promise<void>[] = [];
  readonly #leave = new AbortController();

  /** @param access requests the address and a token for a session's viewer; rejects while no replica answers */
  constructor(access: (sessionId: string) => Promise<harness.ViewerAccess>) {
    this.#access = access;
  }

  /** Handles a signaling message for a fake host; the option `onSignaling` of the hosts. */
  hear(...[frame, agent]: Parameters<NonNullable<harness.FakeAgentOptions['onSignaling']>>): void {
    // A message for a viewer that has just left finds no session.
    void this.#pictures.hear(frame, agent).catch(() => undefined);
  }

  /** Watches a session until `close`; resolves when its picture moves. */
  async watch(sessionId: string): Promise<void> {
    const viewer = new harness.FakeViewer();
    const watched = { viewer, sessionId, newestFrameMs: 0 };
    this.#watched.push(watched);
    this.#stays.push(this.#stay(watched));
    await viewer.frames(FIRST_FRAMES);
    viewer.video.takeArrivals();
    watched.newestFrameMs = systemClock.monotonicMs();
  }

  /** Expects that every viewer is connected again, and still has its first media connection. */
  async expectConnected(within: { timeout: number; interval: number }): Promise<void> {
    const viewers = this.#watched.map(({ viewer }) => viewer);
    await vi.waitFor(() => {
      expect(viewers.map(({ closeCode, isConnected }) => isConnected && closeCode === null)).toEqual(
        viewers.map(() => true),
      );
    }, within);
    const offers = viewers.map(({ messages }) => messages.filter(({ type }) => type === 'offer').length);
    expect(offers).toEqual(viewers.map(() => 1));
  }

  /** The longest time without a new frame at any viewer since the last call. */
  takeLongestGapMs(): number {
    const nowMs = systemClock.monotonicMs();
    let longest = 0;
    for (const watched of this.#watched) {
      for (const arrivedMs of watched.viewer.video.takeArrivals()) {
        longest = Math.max(longest, arrivedMs - watched.newestFrameMs);
        watched.newestFrameMs = arrivedMs;
      }
      longest = Math.max(longest, nowMs - watched.newestFrameMs);
    }
    return longest;
  }

  async close(): Promise<void> {
    this.#leave.abort();
    await Promise.all(this.#stays);
    await Promise.all(this.#watched.map(({ viewer }) => viewer.close()));
    await this.#pictures.close();
  }

  async #stay({ viewer, sessionId }: Watched): Promise<void> {
    const { signal } = this.#leave;
    while (!signal.aborted) {
      const closed = once(viewer, 'closed', { signal }).catch(() => undefined);
      try {
        await viewer.connect(await this.#access(sessionId));
        await closed;
      } catch {
        // No replica answered.
      }
      await delay(RECONNECT_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
