// @vitest-environment happy-dom
import { SignalingRefused } from '@footlight/stream-client';
import { afterEach, expect, test, vi } from 'vitest';
import { answerBy, refusal } from '../../../test/show-page.tsx';
import { guestTicket } from './guest-ticket.ts';

afterEach(() => vi.unstubAllGlobals());

test.each([
  [404, 'guest_link_invalid', true],
  [409, 'sharing_disabled', true],
  // A replica of an older release does not know the path.
  [404, 'not_found', false],
  [429, 'rate_limited', false],
])('%i %s ends the visit of a guest: %s', async (status, code, isFinal) => {
  answerBy({ 'guests.join': () => refusal(status, code, 'x') });
  const refused = guestTicket({ SignalingRefused }, 'a', 'Ada', new AbortController().signal);
  const error = await refused.catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code });
  expect(error instanceof SignalingRefused).toBe(isFinal);
});
