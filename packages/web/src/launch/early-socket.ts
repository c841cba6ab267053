/**
 * The signaling socket of a launch. It is opened as soon as the launch is answered, so that its handshake runs while
 * the session page renders. At most one socket is kept, and it is closed if no page uses it in time. The service sends
 * nothing before the page's hello, so no message is lost.
 */
import type { Timer } from '@footlight/platform/timer';
import { clock } from '../clock.ts';

/**
 * Time limit until a session page uses its socket, which normally happens much earlier. The service closes a silent
 * socket after 5 s.
 */
const UNUSED_MS = 4_000;

let waiting: { url: string; socket: WebSocket; timer: Timer } | null = null;

/** Opens a socket for a page that will need it soon. */
export function dialEarly(url: string): void {
  giveUp();
  waiting = { url, socket: new WebSocket(url), timer: clock.setTimeout(giveUp, UNUSED_MS) };
}

/** The socket that was opened early for this URL; otherwise a new socket. */
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
