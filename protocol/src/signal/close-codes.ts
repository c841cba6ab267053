/**
 * Close codes of /v1/signal, and the page's reaction to each code.
 *
 * reconnect: 'no': do not reconnect. 'backoff': reconnect with the usual backoff. { afterMs }: reconnect after this
 * time. 'new_token': reconnect at once with a new token. 'reload': the page is too old and must be reloaded.
 */
export type ReconnectRule = 'no' | 'backoff' | 'new_token' | 'reload' | { afterMs: number };

export const SIGNAL_CLOSE = {
  frame_too_large: 1009,
  restarting: 1012,
  malformed: 4400,
  bad_token: 4401,
  guest_ended: 4403,
  session_gone: 4404,
  protocol_unsupported: 4406,
  timed_out: 4408,
  no_host: 4409,
  taken_over: 4410,
  owner_away: 4412,
  codec_unsupported: 4415,
  flooded: 4429,
  relay_unavailable: 4500,
} as const;
export type SignalCloseName = keyof typeof SIGNAL_CLOSE;
type SignalCloseCode = (typeof SIGNAL_CLOSE)[SignalCloseName];

const RECONNECT: Readonly<Record<SignalCloseCode, ReconnectRule>> = {
  [SIGNAL_CLOSE.frame_too_large]: 'no',
  [SIGNAL_CLOSE.restarting]: 'backoff',
  [SIGNAL_CLOSE.malformed]: 'no',
  [SIGNAL_CLOSE.bad_token]: 'new_token',
  [SIGNAL_CLOSE.guest_ended]: 'no',
  [SIGNAL_CLOSE.session_gone]: 'no',
  [SIGNAL_CLOSE.protocol_unsupported]: 'reload',
  [SIGNAL_CLOSE.timed_out]: 'backoff',
  [SIGNAL_CLOSE.no_host]: { afterMs: 1_000 },
  [SIGNAL_CLOSE.taken_over]: 'no',
  [SIGNAL_CLOSE.owner_away]: 'no',
  [SIGNAL_CLOSE.codec_unsupported]: 'no',
  [SIGNAL_CLOSE.flooded]: { afterMs: 5_000 },
  [SIGNAL_CLOSE.relay_unavailable]: 'backoff',
};

/**
 * The page's reaction to a socket that was closed with `code`. Codes without a meaning here, for example 1006 after a
 * lost network, cause a reconnect with the usual backoff.
 */
export function reconnectRule(code: number): ReconnectRule {
  return (RECONNECT as Record<number, ReconnectRule>)[code] ?? 'backoff';
}
