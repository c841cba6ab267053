/**
 * Messages of /v1/signal between a viewer's page and the service. Signaling only; media and input are peer to peer,
 * so a closed socket ends neither session nor picture.
 */
import { z } from 'zod';
import {
  appLaunchState,
  codec,
  count,
  finite,
  humanText,
  int,
  openCode,
  type SignalErrorCode,
  sessionStateName,
  text,
  wireUuid,
} from '../common.ts';

/** Version of the signaling protocol that this code supports. */
export const SIGNAL_PROTOCOL = 1;
/**
 * Largest frame of the socket in bytes; a larger one closes it with 1009. It is four times the longest SDP, because
 * JSON escapes make an SDP longer.
 */
export const MAX_SIGNAL_FRAME_BYTES = 256 * 1024;
/**
 * Messages per second that a page may send, and the burst; with more, the socket is closed with 4429. The burst is
 * enough for the candidates of three simultaneous negotiations (MAX_CANDIDATES), and the rate for one more negotiation
 * every 1.3 s.
 */
export const SIGNAL_RATE_PER_SECOND = 50;
export const SIGNAL_RATE_BURST = 200;
/**
 * Largest session description in bytes, for three media sections and MAX_CANDIDATES. Chosen with a margin, not
 * measured.
 */
export const MAX_SDP_BYTES = 64 * 1024;
/** Largest candidate line in bytes: the fields of RFC 8839, 5.1, with a margin for extensions. Chosen, not measured. */
export const MAX_CANDIDATE_BYTES = 2 * 1024;
/**
 * Largest number of candidates per side and peer connection; further ones are ignored. Each candidate triggers a
 * connectivity check, with which a page could make the host send packets to any address. It is fewer than the 100 pairs
 * of RFC 8445, 6.1.2.5.
 */
export const MAX_CANDIDATES = 64;
/**
 * Time from the upgrade to the page's hello, after which the service closes with 4408. The page sends the hello in the
 * socket's open event.
 */
export const SIGNAL_HELLO_TIMEOUT_MS = 5_000;
/**
 * Silence after which the service closes with 4408: four missing pings, the same number as for the socket of an agent.
 */
export const SIGNAL_READ_TIMEOUT_MS = 120_000;
/** Interval of pings: half of the shortest usual timeout of proxies (60 s, proxy_read_timeout of nginx). */
export const SIGNAL_PING_INTERVAL_MS = 30_000;
/**
 * Shortest interval between renegotiations; earlier ones are ignored, because each needs a key exchange and a keyframe.
 */
export const RENEGOTIATE_INTERVAL_MS = 3_000;
/**
 * Time limit for the answer after an offer, and for the connection after the answer. It is long, because ICE and DTLS
 * repeat lost packets.
 */
export const NEGOTIATION_STEP_TIMEOUT_MS = 20_000;
/**
 * Longest time that the old peer connection waits until the newer one is connected: half of
 * NEGOTIATION_STEP_TIMEOUT_MS. Chosen, not measured.
 */
export const MAKE_BEFORE_BREAK_MS = 10_000;

/** A STUN or TURN server, in the form that RTCPeerConnection accepts. */
export const iceServer = z.object({
  urls: z.array(text(512)).min(1).max(16),
  username: text(512).optional(),
  credential: text(1024).optional(),
});
export type IceServer = z.infer<typeof iceServer>;

const sdp = text(MAX_SDP_BYTES);
const candidateFields = {
  pc_id: wireUuid,
  /** "" ends the candidates. */
  candidate: text(MAX_CANDIDATE_BYTES),
  mid: text(16).nullable(),
};

export const helloSchema = z.object({
  type: z.literal('hello'),
  protocol: int,
  client_id: wireUuid,
  client: z.object({
    kind: z.enum(['browser', 'native']),
    name: humanText(64).optional(),
    version: humanText(64).optional(),
  }),
  codecs: z.array(codec).max(8),
  h264_profiles: z.array(text(64)).max(16).optional(),
  resume: z.object({ pc_id: wireUuid }).optional(),
});
export const answerSchema = z.object({ type: z.literal('answer'), pc_id: wireUuid, sdp });
export const candidateSchema = z.object({ type: z.literal('candidate'), ...candidateFields });
export const renegotiateSchema = z.object({
  type: z.literal('renegotiate'),
  pc_id: wireUuid,
  reason: z.enum(['ice_failed', 'disconnected', 'video_stuck', 'user']),
});
export const browserByeSchema = z.object({ type: z.literal('bye'), reason: humanText(64).optional() });

export const readySchema = z.object({
  type: z.literal('ready'),
  protocol: int,
  session: z.object({ id: wireUuid, state: sessionStateName, state_detail: humanText(512).nullable() }),
  stream: z.object({
    codec,
    width: count,
    height: count,
    fps: finite,
    audio: z.boolean(),
    mic: z.boolean(),
    recording: z.boolean(),
  }),
  ice_servers: z.array(iceServer).max(32),
  /**
   * Seconds until the credentials in `ice_servers` expire, counted from the arrival of this message. Missing: they do
   * not expire.
   */
  ice_ttl_secs: count.optional(),
  conn: int,
});
export const sessionSchema = z.object({
  type: z.literal('session'),
  state: sessionStateName,
  state_detail: humanText(512).nullable(),
  app_launch_state: appLaunchState.optional(),
});
export const offerSchema = z.object({
  type: z.literal('offer'),
  pc_id: wireUuid,
  sdp,
  reason: z.enum(['first', 'renegotiate', 'takeover']),
});
export const resumedSchema = z.object({ type: z.literal('resumed'), pc_id: wireUuid });
export const serviceByeSchema = z.object({
  type: z.literal('bye'),
  /**
   * Only for guests: `guest_ended`, because the owner removed the guest or the time is over; `owner_away`, because the
   * owner does not watch.
   */
  reason: z.enum(['taken_over', 'session_ended', 'host_lost', 'going_away', 'guest_ended', 'owner_away']),
});

export const signalErrorSchema = z.object({
  type: z.literal('error'),
  code: openCode<SignalErrorCode>(),
  message: humanText(256),
  /** true: the service closes the socket after this error. */
  fatal: z.boolean(),
});

export type Hello = z.infer<typeof helloSchema>;
export type Answer = z.infer<typeof answerSchema>;
export type Candidate = z.infer<typeof candidateSchema>;
export type Renegotiate = z.infer<typeof renegotiateSchema>;
export type Ready = z.infer<typeof readySchema>;
export type ServiceBye = z.infer<typeof serviceByeSchema>;
export type Offer = z.infer<typeof offerSchema>;

/** Messages from the browser to the service. */
export const browserToService = z.discriminatedUnion('type', [
  helloSchema,
  answerSchema,
  candidateSchema,
  renegotiateSchema,
  browserByeSchema,
]);
/** Messages from the service to the browser. */
export const serviceToBrowser = z.discriminatedUnion('type', [
  readySchema,
  sessionSchema,
  offerSchema,
  resumedSchema,
  candidateSchema,
  serviceByeSchema,
  signalErrorSchema,
]);
export type BrowserMessage = z.infer<typeof browserToService>;
export type ServiceMessage = z.infer<typeof serviceToBrowser>;
