import type { Page } from 'playwright-core';

declare global {
  interface Window {
    /** Returns a host's candidate as the page must receive it; null: the page does not receive it. */
    footlightCandidate?: (candidate: string) => Promise<string | null>;
  }
}

/**
 * Lets a page reach its host only through the candidates that `toViewer` returns, and withholds the page's own
 * candidates from the host. Call before the page opens the session.
 */
export async function relayPage(page: Page, toViewer: (candidate: string) => string | null): Promise<void> {
  await page.exposeFunction('footlightCandidate', (candidate: string) => toViewer(candidate));
  await page.addInitScript(() => {
    const connection = RTCPeerConnection.prototype;
    const add: (this: RTCPeerConnection, init: RTCIceCandidateInit) => Promise<void> =
      connection.addIceCandidate;
    connection.addIceCandidate = async function (this: RTCPeerConnection, init?: RTCIceCandidateInit | null) {
      const candidate = (await window.footlightCandidate?.(init?.candidate ?? '')) ?? null;
      if (candidate !== null) await add.call(this, { ...init, candidate });
    };
    Object.defineProperty(connection, 'onicecandidate', { set: () => undefined });
  });
}
