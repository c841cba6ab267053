import { LRUCache } from 'lru-cache';
import type { WebSocket } from 'ws';
import type { Agents } from '../fleet/index.ts';
import { ApiError } from '../platform/errors.ts';
import { checkOrigin } from '../platform/http/origin/origins.ts';
import type { Platform } from '../platform/platform.ts';
import type { Settings } from '../settings/index.ts';
import { mintIceServers } from './ice-servers.ts';
import { createHandshakeLimiter, type HandshakeLimiter } from './limiter.ts';
import { type SessionDirectory, sessionSubjects } from './subjects.ts';
import type { AdmittedGuest, SignalingTokens } from './tokens.ts';
import { ViewerSocket } from './viewer-socket.ts';

/**
 * Maximum sessions whose last connection number is remembered. For other sessions the number still grows, because it is
 * based on the clock.
 */
const MAX_REMEMBERED_CONNS = 4_096;
/**
 * Distance between the numbers of two persons' sockets: a number is slot × GUEST_CONNS plus the clock in milliseconds,
 * and the owner has slot 0. The clock stays below this distance, so two persons never get the same number, even if two
 * replicas number sockets in the same millisecond. With at most MAX_GUESTS slots every number stays below 2^53, so it
 * is exact in JSON.
 */
const GUEST_CONNS = 100_000_000_000_000;

export interface SignalingDeps {
  agents: Agents;
  sessions: SessionDirectory;
  settings: Pick<Settings, 'originsInForce'>;
  tokens: SignalingTokens;
  limiter?: HandshakeLimiter;
}

/** Facts of a socket request before the upgrade. */
interface Knock {
  origin: string | undefined;
  host: string | undefined;
  /** Key of the client's address. */
  addressKey: string;
  token: string | undefined;
  isUpgrade: boolean;
}

/** An authorized request that may become a socket. */
export interface Handshake {
  addressKey: string;
  token: string;
  release(): void;
}

export interface SignalingService {
  /**
   * Counts the handshake as in flight. Release it when the request ends without an upgrade.
   * @throws ApiError 403, 429, 400 in this order
   */
  authorize(knock: Knock): Promise<Handshake>;
  /** Serves a socket after its upgrade; the request was authorized before. */
  open(socket: WebSocket, handshake: Handshake): void;
  /** Number of open viewer sockets. */
  readonly connected: number;
  /** Closes every socket with 1012. */
  close(): void;
}

export function createSignaling(platform: Platform, deps: SignalingDeps): SignalingService {
  const { clock, config } = platform;
  const limiter = deps.limiter ?? createHandshakeLimiter(clock);
  const lastConns = new LRUCache<string, number>({ max: MAX_REMEMBERED_CONNS });
  const sockets = new Set<ViewerSocket>();

  function nextConn(sessionId: string, guest: AdmittedGuest | null): number {
    const base = guest === null ? 0 : guest.slot * GUEST_CONNS;
    const key = guest?.id ?? sessionId;
    const conn = Math.max((lastConns.get(key) ?? 0) + 1, base + clock.nowMs());
    lastConns.set(key, conn);
    return conn;
  }

  // Remember the numbers of other replicas, because their clocks may be ahead of this one.
  const remember = ({ conn }: { conn: number }, key: string) => {
    lastConns.set(key, Math.max(lastConns.get(key) ?? 0, conn));
  };
  const others = [
    platform.bus.subscribeOthers(sessionSubjects.viewer, remember),
    platform.bus.subscribeOthers(sessionSubjects.guestViewer, remember),
  ];

  return {
    async authorize({ origin, host, addressKey, token, isUpgrade }) {
      if (origin !== undefined) {
        const { allowed } = await deps.settings.originsInForce();
        if (!checkOrigin({ origin, host, allowed }).allowed)
          throw new ApiError('forbidden', { message: 'Pages of this origin may not connect.' });
      }
      if (!limiter.admits(addressKey)) throw new ApiError('rate_limited');
      if (token === undefined || token === '')
        throw new ApiError('validation_failed', { message: 'token: missing' });
      if (!isUpgrade)
        throw new ApiError('validation_failed', { message: 'This address is for WebSocket connections.' });
      return { addressKey, token, ...limiter.begin(addressKey) };
    },

    open(socket, handshake) {
      const { addressKey, token } = handshake;
      const viewer = new ViewerSocket(
        platform,
        {
          agents: deps.agents,
          sessions: deps.sessions,
          mintIceServers: (holderId, endsAtMs) =>
            mintIceServers(config.sessions, holderId, clock.nowMs(), endsAtMs),
          consumeToken: (text) => deps.tokens.consume(text),
          isAdmitted: (guestId) => deps.tokens.isAdmitted(guestId),
          tokenFailed: () => limiter.failed(addressKey),
          nextConn,
          handshakeDone: () => handshake.release(),
          closed: () => sockets.delete(viewer),
        },
        socket,
      );
      sockets.add(viewer);
      viewer.start(token);
    },

    get connected() {
      return sockets.size;
    },

    close() {
      for (const subscription of others) subscription.close();
      for (const viewer of [...sockets]) viewer.goAway();
    },
  };
}
