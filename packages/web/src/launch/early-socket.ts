/**
 * The signaling socket of a launch, dialled as soon as the launch is answered: its handshake runs while the session
 * page is drawn. At most one waits, and it closes when no page takes it in time. The service sends nothing
 * before the page's hello, so no message is lost.
 */

/** A session page takes its socket within a fraction of this; the service gives a silent one 5 s. */
const UNUSED_MS = 4_000;

let waiting: { url: string; socket: WebSocket; timer: ReturnType<typeof setTimeout> } | null = null;

/** Dials an address that a page is about to need. */
export function dialEarly(url: string): void {
  giveUp();
  waiting = { url, socket: new WebSocket(url), timer: setTimeout(giveUp, UNUSED_MS) };
}

/** The socket to that address which was dialled early, else a new one. */
export function takeSocket(url: string): WebSocket {
  if (waiting?.url !== url || waiting.socket.readyState > WebSocket.OPEN) return new WebSocket(url);
  const { socket, timer } = waiting;
  clearTimeout(timer);
  waiting = null;
  return socket;
}

function giveUp(): void {
  if (waiting === null) return;
  clearTimeout(waiting.timer);
  waiting.socket.close();
  waiting = null;
}
