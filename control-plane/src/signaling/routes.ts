import { MAX_SIGNAL_FRAME_BYTES } from '@footlight/protocol/signal';
import type { Server } from '../platform/http/server.ts';
import type { Handshake, SignalingService } from './service.ts';

export function registerSignalingRoutes(server: Server, signaling: SignalingService): void {
  const handshakes = new WeakMap<object, Handshake>();

  server.upgrade('signal.connect', {
    maxPayloadBytes: MAX_SIGNAL_FRAME_BYTES,
    async authorize({ headers, addressKey, raw }, isUpgrade) {
      const token = tokenOf(raw.query);
      const handshake = await signaling.authorize({
        origin: headers.origin,
        host: headers.host,
        addressKey,
        token,
        isUpgrade,
      });
      handshakes.set(raw, handshake);
      const { socket } = raw.raw;
      // A request that disconnects before the upgrade must release its handshake.
      if (socket.destroyed) handshake.release();
      else socket.once('close', handshake.release);
    },
    open(socket, { raw }) {
      const handshake = handshakes.get(raw);
      if (handshake === undefined) socket.terminate();
      else signaling.open(socket, handshake);
    },
  });
}

/** The token in the query; a repeated parameter counts as missing. */
function tokenOf(query: unknown): string | undefined {
  const token = (query as Record<string, unknown>).token;
  return typeof token === 'string' ? token : undefined;
}
