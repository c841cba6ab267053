import * as datachannel from 'node-datachannel';

/** The browser's side of a connection test, without a browser. */
export interface NativeBrowser {
  /** The offer. It has no candidates, so the host cannot send a check before the answer is applied. */
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
  connection.setLocalDescription('offer');
  return {
    // libdatachannel 0.24.5 starts ICE before it stores the fingerprint of an answer (setRemoteDescription in
    // peerconnection.cpp). A check that arrives in between starts DTLS, which then refuses the host's certificate.
    offer: withoutCandidates(connection.localDescription()?.sdp ?? ''),
    received,
    answer: (sdp) => connection.setRemoteDescription(sdp, 'answer'),
    opened,
    ended,
    send: (text) => void channel.sendMessage(text),
    close: () => connection.close(),
  };
}

function withoutCandidates(sdp: string): string {
  return sdp.replace(/^a=(candidate:.*|end-of-candidates)\r\n/gm, '');
}
