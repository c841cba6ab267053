import type { MediaBuffer } from '@footlight/gst';
import type { Codec } from '@footlight/protocol';
import { VIDEO_PAYLOAD_TYPE } from '../webrtc/sdp-offer.ts';
import { Av1Packetizer } from './av1-packetizer.ts';

/** Largest RTP packet from the payloader, bytes; leaves space for header extensions and SRTP. */
const PAYLOAD_MTU = 1180;

export interface Payloading {
  /** Elements after the encoder, in gst-launch syntax. A payloader has the name `payloader`. */
  branch: string;
  /** Names of these elements with their Debian packages. */
  elements: readonly { name: string; package: string }[];
  /** null: packets are made from the branch's temporal units, outside of GStreamer. */
  payloader: string | null;
}

const PARSERS = 'gstreamer1.0-plugins-bad';
const PAYLOADERS = 'gstreamer1.0-plugins-good';

function withPayloader(codec: 'h264' | 'h265'): Payloading {
  const [parser, payloader] = [`${codec}parse`, `rtp${codec}pay`];
  return {
    branch: [
      // -1: the parser repeats the parameter sets with each keyframe.
      `${parser} config-interval=-1`,
      `${payloader} name=payloader aggregate-mode=zero-latency mtu=${PAYLOAD_MTU} pt=${VIDEO_PAYLOAD_TYPE} timestamp-offset=0 seqnum-offset=0`,
    ].join(' ! '),
    elements: [
      { name: parser, package: PARSERS },
      { name: payloader, package: PAYLOADERS },
    ],
    payloader,
  };
}

/** How each codec's stream becomes RTP packets. */
export const PAYLOADING: Readonly<Record<Codec, Payloading>> = {
  h264: withPayloader('h264'),
  h265: withPayloader('h265'),
  av1: {
    branch: 'av1parse ! video/x-av1,stream-format=obu-stream,alignment=tu',
    elements: [{ name: 'av1parse', package: PARSERS }],
    payloader: null,
  },
};

/**
 * Creates a function that converts a codec branch's buffers to RTP packets. Each pipeline needs its own. The last
 * packet of a frame has the marker.
 */
export function packetMaker(codec: Codec): (buffer: MediaBuffer) => Buffer[] {
  if (PAYLOADING[codec].payloader !== null) return ({ data }) => [data];
  const packetizer = new Av1Packetizer(PAYLOAD_MTU, VIDEO_PAYLOAD_TYPE);
  // A unit without a presentation time is dropped, because it cannot be shown.
  return ({ data, ptsMs }) => (ptsMs === null ? [] : packetizer.packets(data, ptsMs));
}
