/**
 * The signaling socket of a launch, opened as soon as the launch is answered, so that its handshake runs while the
 * session page renders. At most one is kept, and it closes if no page takes it in time. The service sends nothing
 * before the page's hello, so no message is lost.
 */
import type { Timer } from '@footlight/platform/timer';
import { clock } from '../clock.ts';

/** A session page takes its socket much earlier; the service closes a silent one after 5 s. */
const UNUSED_MS = 4_000;

let waiting: { url: string; socket: WebSocket; timer: Timer } | null = null;

/** Opens a socket for a page that will need it soon. */
export function dialEarly(url: string): void {
  giveUp();
  waiting = { url, socket: new WebSocket(url), timer: clock.setTimeout(giveUp, UNUSED_MS) };
}

/** The early socket of that URL, else a new one. */
export function takeSocket(url: string): WebSocket {
  if (waiting?.url !== url || waiting.socket.readyState > WebSocket.OPEN) return new WebSocket(url);
  const { socket, timer } = waiting;
  timer.cancel();
  waiting = null;
  return socket;
}

function giveUp(): void {
  if (waiting === null) return;
  waiting.timer.cancel();
  waiting.socket.close();
  waiting = null;
}
