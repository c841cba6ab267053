/**
 * Close codes of /v1/signal, and what a page does about each.
 *
 * reconnect: 'no' = stay disconnected; 'backoff' = again on the usual backoff; { afterMs } = not before that;
 * 'new_token' = at once with a fresh token; 'reload' = this page is too old.
 */
export type ReconnectRule = 'no' | 'backoff' | 'new_token' | 'reload' | { afterMs: number };

export const SIGNAL_CLOSE = {
  frame_too_large: 1009,
  restarting: 1012,
  malformed: 4400,
  bad_token: 4401,
  session_gone: 4404,
  protocol_unsupported: 4406,
  timed_out: 4408,
  no_host: 4409,
  taken_over: 4410,
  codec_unsupported: 4415,
  flooded: 4429,
  relay_unavailable: 4500,
} as const;
export type SignalCloseName = keyof typeof SIGNAL_CLOSE;

export const SIGNAL_RECONNECT: Record<SignalCloseName, ReconnectRule> = {
  frame_too_large: 'no',
  restarting: 'backoff',
  malformed: 'no',
  bad_token: 'new_token',
  session_gone: 'no',
  protocol_unsupported: 'reload',
  timed_out: 'backoff',
  no_host: { afterMs: 1_000 },
  taken_over: 'no',
  codec_unsupported: 'no',
  flooded: { afterMs: 5_000 },
  relay_unavailable: 'backoff',
};

const NAME_BY_CODE = new Map<number, SignalCloseName>(
  (Object.keys(SIGNAL_CLOSE) as SignalCloseName[]).map((name) => [SIGNAL_CLOSE[name], name]),
);

/** Name of a close code; null for one this protocol does not define (a lost network shows as 1006). */
export function signalCloseName(code: number): SignalCloseName | null {
  return NAME_BY_CODE.get(code) ?? null;
}

/** What a page does after its socket closed with `code`. Codes of no meaning here reconnect on the backoff. */
export function reconnectRule(code: number): ReconnectRule {
  const name = signalCloseName(code);
  return name === null ? 'backoff' : SIGNAL_RECONNECT[name];
}
