/** Changes and reads the page's SDP answer. SDP as in RFC 8866. */

const ABS_CAPTURE_TIME = 'http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time';

/**
 * Requests stereo: a browser plays Opus in mono unless its answer says otherwise.
 * @returns the SDP with stereo=1 on every Opus format
 * Source: RFC 7587, section 6.1.
 */
export function wantStereo(sdp: string): string {
  const payloads = [...sdp.matchAll(/^a=rtpmap:(\d+) opus\/48000\/2\r?$/gim)].map((match) => match[1]);
  let out = sdp;
  for (const payload of payloads) {
    const fmtp = new RegExp(`^(a=fmtp:${payload} )([^\\r\\n]*)`, 'm');
    const parameters = fmtp.exec(out)?.[2];
    if (parameters === undefined) {
      out = out.replace(
        new RegExp(`^(a=rtpmap:${payload} [^\\r\\n]*)(\\r?\\n)`, 'm'),
        `$1$2a=fmtp:${payload} stereo=1$2`,
      );
    } else if (!/(^|;)\s*stereo=/.test(parameters)) {
      out = out.replace(fmtp, '$1$2;stereo=1');
    }
  }
  return out;
}

/**
 * Lets the host start the DTLS handshake. The page may be reachable for the host before the host has read the page's
 * answer. If the page started the handshake, the host would drop the page's first message, and the handshake would wait
 * for a retransmission. Source: RFC 8842, section 5.3.
 */
export function wantPassive(sdp: string): string {
  return sdp.replace(/^a=setup:active(?=\r?$)/gm, 'a=setup:passive');
}

/** Whether frames carry the time of their capture on the host's clock. */
export function negotiatedCaptureTime(sdp: string): boolean {
  return sdp.includes(ABS_CAPTURE_TIME);
}

/** Header extensions that a browser omits unless requested. */
interface ExtensionChoice {
  uri: string;
  direction: string;
}
interface ChoosingTransceiver {
  getHeaderExtensionsToNegotiate?(): ExtensionChoice[];
  setHeaderExtensionsToNegotiate?(extensions: ExtensionChoice[]): void;
}

/** Enables capture time for a receiving transceiver, if the browser allows it. */
export function wantCaptureTime(transceiver: RTCRtpTransceiver): void {
  const choosing = transceiver as unknown as ChoosingTransceiver;
  const extensions = choosing.getHeaderExtensionsToNegotiate?.();
  if (extensions === undefined || choosing.setHeaderExtensionsToNegotiate === undefined) return;
  const wanted = extensions.map((extension) =>
    extension.uri === ABS_CAPTURE_TIME ? { ...extension, direction: 'sendrecv' } : extension,
  );
  try {
    choosing.setHeaderExtensionsToNegotiate(wanted);
  } catch {
    // An error here only means that one measurement is missing.
  }
}
