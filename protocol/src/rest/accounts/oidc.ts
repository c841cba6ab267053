import { z } from 'zod';
import { body, string } from '../atoms.ts';
import { operation } from '../operation.ts';
import { deviceKey, exampleSignedIn, loginResponse, PAGE_COOKIE } from './accounts.ts';

/** Longest query that a provider may append; codes and states together are much shorter. Chosen, not measured. */
const MAX_ANSWER_CHARACTERS = 8_192;

const finishBody = body({
  answer: string({ max: MAX_ANSWER_CHARACTERS }).describe(
    'Query of the address to which the provider sent the browser, without the question mark.',
  ),
  device_key: deviceKey,
});

const tooOften = 'This address has signed in or registered too often.';
const noAnswer = 'The identity provider did not answer, or not as it should.';

/** Sign-in with an account of an OpenID Connect provider. */
export const oidcOperations = {
  'auth.oidcStart': operation({
    id: 'auth.oidcStart',
    method: 'POST',
    path: '/v1/auth/oidc/start',
    auth: 'public',
    summary: 'Start a sign-in with the identity provider',
    description:
      'The browser then opens the address of the answer. The provider sends it back to the page /login/callback of PUBLIC_BASE_URL, which finishes the sign-in. A start is valid for ten minutes, and only in the browser that has the cookie.',
    headers: {
      'Set-Cookie': 'Binds the sign-in to this browser; it opens no operation. Ends after ten minutes.',
    },
    onlyWith: 'SERVICE_OIDC_ISSUER',
    responses: {
      200: z.object({ url: z.string().describe('Address at the provider that the browser opens next.') }),
    },
    refusals: {
      rate_limited: tooOften,
      conflict: 'This instance has no administrator yet; it must be claimed first.',
      provider_unavailable: noAnswer,
    },
    example: {
      response: {
        url: 'https://id.example.com/authorize?client_id=footlight&response_type=code&state=Zx0b1Vb3m7Kf8dT6',
      },
    },
  }),
  'auth.oidcFinish': operation({
    id: 'auth.oidcFinish',
    method: 'POST',
    path: '/v1/auth/oidc/finish',
    auth: 'public',
    summary: 'Finish a sign-in with the identity provider',
    description:
      'Needs the cookie of the start. The first sign-in of a person links an account with the same verified email, or creates an account if SERVICE_OIDC_REGISTRATION allows it.',
    headers: { 'Set-Cookie': PAGE_COOKIE },
    onlyWith: 'SERVICE_OIDC_ISSUER',
    body: { schema: finishBody },
    responses: { 200: loginResponse },
    refusals: {
      rate_limited: tooOften,
      sign_in_expired:
        'The start is unknown, used or older than ten minutes, or the cookie is missing or of another browser.',
      sign_in_not_confirmed:
        'The provider refused the sign-in, its answer is not valid, or it gave no email address for a new person.',
      provider_unavailable: noAnswer,
      account_disabled: 'The account is disabled.',
      account_not_linked:
        'An account has this email, but the provider has not verified the email, or the account is linked to another person.',
      registration_closed: 'The person has no account, and the sign-in may not create one.',
      conflict: 'Another account with this email or username was created at the same moment.',
    },
    example: {
      body: {
        answer: 'code=SplxlOBeZQQYbYS6WxSbIA&state=Zx0b1Vb3m7Kf8dT6',
        device_key: '5d1f0c9ab27e4e63',
      },
      response: exampleSignedIn,
    },
  }),
} as const;
