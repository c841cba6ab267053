import type { Clock, Timer } from '@footlight/platform/timer';
import { MAX_PREFLIGHT_SDP } from '@footlight/protocol/preflight';
import type { PlannedPath, Success } from '@footlight/protocol/rest';
import type { NetworkPath } from '@footlight/protocol/telemetry';
import type { PathResult } from './preflight-model.ts';

/** Time to gather candidates, and to get a relay from a TURN server, which may need a TLS connection. */
const GATHER_MS = 2_000;
const RELAY_MS = 5_000;
/** Time to connect after the host's answer. Browsers repeat the first checks for about this time. */
const CONNECT_MS = 8_000;
/** Number of round trips that are measured, and the time limit for all of them. */
const ECHOES = 5;
const ECHO_MS = 4_000;

export interface PeerTest {
  planned: Pick<PlannedPath, 'path' | 'ice_servers'>;
  clock: Clock;
  /** Ends the test. */
  signal: AbortSignal;
  /** Passes the offer to the host. */
  exchange(offer: string): Promise<Success<'preflight.offer'>>;
  /** Makes the connection; tests replace it. */
  connect?: (configuration: RTCConfiguration) => RTCPeerConnection;
}

const isRelayed = (path: NetworkPath) => path.startsWith('turn_');

/**
 * Tests one path: offers a data channel with all candidates of the path, connects, and measures some round trips. Closes
 * the connection in any case.
 * @throws when the host gives no answer, or the test was ended
 */
export async function testPeer(test: PeerTest): Promise<PathResult> {
  const { planned, clock, signal, exchange } = test;
  const connect = test.connect ?? ((configuration) => new RTCPeerConnection(configuration));
  const peer = connect({
    iceServers: planned.ice_servers as RTCIceServer[],
    iceTransportPolicy: isRelayed(planned.path) ? 'relay' : 'all',
  });
  try {
    const channel = peer.createDataChannel('preflight');
    await peer.setLocalDescription();
    const isGathered = () => peer.iceGatheringState === 'complete';
    await settled(peer, 'icegatheringstatechange', isGathered, {
      clock,
      signal,
      limitMs: isRelayed(planned.path) ? RELAY_MS : GATHER_MS,
    });
    const offer = peer.localDescription?.sdp ?? '';
    if (isRelayed(planned.path) && !offer.includes(' typ relay')) return { kind: 'no_relay' };
    if (offer.length > MAX_PREFLIGHT_SDP) throw new Error('the offer of this browser is too long');
    const { answer, ...ports } = await exchange(offer);
    signal.throwIfAborted();
    if (answer === null) return { kind: 'missing' };
    await peer.setRemoteDescription({ type: 'answer', sdp: answer });
    const isOpen = () => channel.readyState === 'open';
    await settled(channel, 'open', isOpen, { clock, signal, limitMs: CONNECT_MS });
    if (!isOpen()) return { kind: 'no_connection', ports };
    const rttMs = await roundTrip(channel, { clock, signal });
    return rttMs === null ? { kind: 'no_connection', ports } : { kind: 'works', rttMs };
  } finally {
    peer.close();
  }
}

interface Wait {
  clock: Clock;
  signal: AbortSignal;
  limitMs: number;
}

/** Waits for an event that makes the condition true, or for the time limit. @throws when the test was ended */
function settled(
  target: EventTarget,
  event: string,
  isTrue: () => boolean,
  { clock, signal, limitMs }: Wait,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let timer: Timer | null = null;
    const finish = (settle: () => void) => {
      timer?.cancel();
      target.removeEventListener(event, check);
      signal.removeEventListener('abort', stop);
      settle();
    };
    const stop = () => finish(() => reject(signal.reason));
    const check = () => {
      if (isTrue()) finish(resolve);
    };
    timer = clock.setTimeout(() => finish(resolve), limitMs);
    target.addEventListener(event, check);
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    else check();
  });
}

/** @returns the median of the round trips in milliseconds; null: the host did not echo in time */
async function roundTrip(
  channel: RTCDataChannel,
  { clock, signal }: Omit<Wait, 'limitMs'>,
): Promise<number | null> {
  const times: number[] = [];
  let sentMs = clock.monotonicMs();
  channel.addEventListener('message', () => {
    times.push(clock.monotonicMs() - sentMs);
    if (times.length === ECHOES) return;
    sentMs = clock.monotonicMs();
    channel.send(`${times.length}`);
  });
  channel.send('0');
  await settled(channel, 'message', () => times.length === ECHOES, { clock, signal, limitMs: ECHO_MS });
  if (times.length === 0) return null;
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? null;
}
