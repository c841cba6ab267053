/** Signaling messages of both ends before the first picture, in realistic sizes. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Answer, Candidate, Offer } from '@footlight/protocol/signal';

/** Candidates of each end, including the empty one that marks the end. */
const CANDIDATES = 8;
/** Messages of each end. */
export const MESSAGES_EACH = 1 + CANDIDATES;

export interface Negotiation {
  /** Host's messages: an offer and its candidates. */
  readonly down: readonly (Offer | Candidate)[];
  /** Viewer's messages: an answer and its candidates. */
  readonly up: readonly (Answer | Candidate)[];
}

export function makeNegotiation(): Negotiation {
  const pc_id = randomUUID();
  return {
    down: [{ type: 'offer', pc_id, sdp: description('actpass', 8), reason: 'first' }, ...candidates(pc_id)],
    up: [{ type: 'answer', pc_id, sdp: description('active', 3) }, ...candidates(pc_id)],
  };
}

function candidates(pc_id: string): Candidate[] {
  const fragment = randomBytes(2).toString('hex');
  return Array.from({ length: CANDIDATES }, (_, n) => ({
    type: 'candidate',
    pc_id,
    candidate:
      n === CANDIDATES - 1
        ? ''
        : `candidate:${1_000_000 + n} 1 udp ${2_122_260_223 - n} 192.0.2.${n + 1} ${50_000 + n} typ host generation 0 ufrag ${fragment} network-id ${n}`,
    mid: 'video',
  }));
}

/** @param formats payload types of the video, each with its retransmission */
function description(setup: 'actpass' | 'active', formats: number): string {
  const types = Array.from({ length: formats }, (_, n) => 96 + 2 * n);
  const transport = [
    'c=IN IP4 0.0.0.0',
    'a=rtcp:9 IN IP4 0.0.0.0',
    `a=ice-ufrag:${randomBytes(2).toString('hex')}`,
    `a=ice-pwd:${randomBytes(12).toString('hex')}`,
    'a=ice-options:trickle',
    `a=fingerprint:sha-256 ${randomBytes(32).toString('hex').toUpperCase().match(/../g)?.join(':')}`,
    `a=setup:${setup}`,
  ];
  const lines = [
    'v=0',
    `o=- ${randomBytes(6).readUIntBE(0, 6)} 2 IN IP4 127.0.0.1`,
    's=-',
    't=0 0',
    'a=group:BUNDLE video audio control',
    'a=msid-semantic: WMS stream',
    `m=video 9 UDP/TLS/RTP/SAVPF ${types.flatMap((type) => [type, type + 1]).join(' ')}`,
    ...transport,
    'a=mid:video',
    'a=extmap:1 urn:ietf:params:rtp-hdrext:toffset',
    'a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time',
    'a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01',
    'a=extmap:4 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay',
    'a=rtcp-mux',
    'a=rtcp-rsize',
    ...types.flatMap((type) => [
      `a=rtpmap:${type} H264/90000`,
      `a=rtcp-fb:${type} transport-cc`,
      `a=rtcp-fb:${type} ccm fir`,
      `a=rtcp-fb:${type} nack`,
      `a=rtcp-fb:${type} nack pli`,
      `a=fmtp:${type} level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f`,
      `a=rtpmap:${type + 1} rtx/90000`,
      `a=fmtp:${type + 1} apt=${type}`,
    ]),
    'm=audio 9 UDP/TLS/RTP/SAVPF 111',
    ...transport,
    'a=mid:audio',
    'a=rtpmap:111 opus/48000/2',
    'a=fmtp:111 minptime=10;stereo=1;useinbandfec=1',
    'm=application 9 UDP/DTLS/SCTP webrtc-datachannel',
    ...transport,
    'a=mid:control',
    'a=sctp-port:5000',
    'a=max-message-size:262144',
  ];
  return `${lines.join('\r\n')}\r\n`;
}
