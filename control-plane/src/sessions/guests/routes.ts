import { type Clock, MINUTE_MS } from '@footlight/platform';
import type { Config } from '../../platform/config/config.ts';
import { instant } from '../../platform/database/index.ts';
import { ApiError } from '../../platform/errors.ts';
import { linkAddressOf } from '../../platform/http/origin/link-address.ts';
import type { Server } from '../../platform/http/server.ts';
import { createWindowLimiter, rateLimited, type WindowLimit } from '../../platform/limits.ts';
import { createHandshakeLimiter, mintIceServers } from '../../signaling/index.ts';
import { signalingUrl } from '../signaling-url.ts';
import type { Guests } from './guests.ts';

/** A session has at most 64 links, so nobody needs more. */
const LINKS_PER_USER: WindowLimit = { limit: 60, windowMs: 10 * MINUTE_MS };
/** A page requests one token for each connection. Several guests may share an address. */
const JOINS_PER_ADDRESS: WindowLimit = { limit: 120, windowMs: MINUTE_MS };
/** Retry-After of an address with too many wrong secrets, in milliseconds. */
const GUESSED_MS = MINUTE_MS;

export function registerGuestRoutes(
  server: Server,
  guests: Guests,
  { config, clock }: { config: Config; clock: Clock },
): void {
  const links = createWindowLimiter(LINKS_PER_USER, clock);
  const joins = createWindowLimiter(JOINS_PER_ADDRESS, clock);
  /** Limits wrong secrets like wrong signaling tokens. */
  const guesses = createHandshakeLimiter(clock);

  server.handle('guests.list', async ({ caller, params }) => ({
    status: 200,
    body: await guests.list(caller, params.id),
  }));

  server.handle(
    'guests.create',
    async ({ caller, params, body, headers }) => {
      const { address, source } = linkAddressOf(config, headers.host);
      const made = await guests.create(caller, params.id, body);
      // Behind a proxy only the page knows the address that people use.
      const url = source === 'request' ? null : `${address}/join#${made.secret}`;
      return { status: 201, body: { ...made, url } };
    },
    { early: ({ caller }) => links.take(caller.userId) },
  );

  server.handle('guests.remove', async ({ caller, params }) => {
    await guests.remove(caller, params.id, params.guest_id);
    return { status: 204 };
  });

  server.handle(
    'guests.join',
    async ({ addressKey, body, headers, overTls }) => {
      try {
        const { guest, token } = await guests.join(body);
        const { id, role, pad_index, expires_at } = guest;
        const { iceServers } = mintIceServers(config.sessions, id, clock.nowMs(), expires_at);
        return {
          status: 201,
          body: {
            guest: { id, role, pad_index },
            expires_at: instant(expires_at),
            signaling: {
              url: signalingUrl(headers, overTls, config.http.publicBaseUrl),
              token: token.token,
              expires_at: instant(token.expiresAt),
              ice_servers: iceServers,
            },
          },
        };
      } catch (error) {
        if (!(error instanceof ApiError && error.code === 'guest_link_invalid')) throw error;
        // Valid links work also while the address is refused, because many people may share one address.
        if (!guesses.admits(addressKey)) throw rateLimited(GUESSED_MS);
        guesses.failed(addressKey);
        throw error;
      }
    },
    { early: ({ addressKey }) => joins.take(addressKey) },
  );
}
