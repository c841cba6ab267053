import * as datachannel from 'node-datachannel';

/** The browser's side of a connection test, without a browser. */
export interface NativeBrowser {
  /** The offer with all candidates. */
  readonly offer: string;
  /** Messages that the host echoed. */
  readonly received: readonly string[];
  answer(sdp: string): void;
  /** Resolves when the data channel is open. */
  readonly opened: Promise<void>;
  /** Resolves when the connection has ended. */
  readonly ended: Promise<void>;
  send(text: string): void;
  close(): void;
}

export async function openNativeBrowser(): Promise<NativeBrowser> {
  const connection = new datachannel.PeerConnection('browser', {
    iceServers: [],
    disableAutoNegotiation: true,
  });
  const received: string[] = [];
  const channel = connection.createDataChannel('preflight');
  channel.onMessage((data) => received.push(String(data)));
  const opened = new Promise<void>((resolve) => channel.onOpen(resolve));
  const ended = new Promise<void>((resolve) => channel.onClosed(resolve));
  const gathered = new Promise<void>((resolve) =>
    connection.onGatheringStateChange((state) => state === 'complete' && resolve()),
  );
  connection.setLocalDescription('offer');
  await gathered;
  return {
    offer: connection.localDescription()?.sdp ?? '',
    received,
    answer: (sdp) => connection.setRemoteDescription(sdp, 'answer'),
    opened,
    ended,
    send: (text) => void channel.sendMessage(text),
    close: () => connection.close(),
  };
}
