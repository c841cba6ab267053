import { ApiFailure, call } from '../../api/client.ts';
import type { Player } from '../../launch/player.ts';

/** Refusals that a retry would not change. */
const FINAL: readonly string[] = ['guest_link_invalid', 'sharing_disabled'];

/**
 * Gets a token for another connection of a guest.
 * @throws SignalingRefused when the link or sharing has ended; other errors may be retried: for example, during an
 *   upgrade a replica of an older release answers 404, because it does not know guests
 */
export async function guestTicket(
  { SignalingRefused }: Pick<Player, 'SignalingRefused'>,
  secret: string,
  name: string,
  signal: AbortSignal,
) {
  try {
    return (await call('guests.join', { body: { secret, name }, signal, ownConnection: true })).signaling;
  } catch (error) {
    if (error instanceof ApiFailure && FINAL.includes(error.code))
      throw new SignalingRefused('guest_ended', error.message, error.code);
    throw error;
  }
}
