import type { AccountsWorld } from '../../testing/world.ts';
import type { PersonClaims, RealProvider } from './real-provider.ts';

/** A browser with its cookie, and the answer of the provider that it got. */
interface Attempt {
  cookie: string;
  answer: string;
}

/** Starts a sign-in, without visiting the provider. */
export async function start(world: AccountsWorld, headers: Record<string, string> = {}) {
  const answer = await world.call('POST', '/v1/auth/oidc/start', { headers });
  const setCookie = String(answer.headers['set-cookie']);
  const { url, error } = answer.json();
  return {
    status: answer.statusCode,
    code: error?.code,
    url: String(url),
    setCookie,
    cookie: setCookie.split(';', 1)[0] ?? '',
  };
}

/**
 * Starts a sign-in, and signs in at the provider.
 * @param claims missing: those of an earlier attempt
 * @param openCookie cookie of the browser's open sign-ins
 */
export async function attempt(
  world: AccountsWorld,
  provider: RealProvider,
  subject: string,
  claims?: PersonClaims,
  openCookie = '',
): Promise<Attempt> {
  if (claims !== undefined) provider.people.set(subject, claims);
  provider.signInAs(subject);
  const { url, cookie } = await start(world, { cookie: openCookie });
  return { cookie, answer: await provider.follow(url) };
}

/** Sends the answer of the provider. */
export async function finish(world: AccountsWorld, { cookie, answer }: Attempt) {
  const reply = await world.call('POST', '/v1/auth/oidc/finish', { body: { answer }, headers: { cookie } });
  return { status: reply.statusCode, headers: reply.headers, ...reply.json() };
}

/** The whole sign-in. */
export const signOn = async (
  world: AccountsWorld,
  provider: RealProvider,
  subject: string,
  claims?: PersonClaims,
) => finish(world, await attempt(world, provider, subject, claims));

/** Claims of a person with a verified email. */
export const claimsOf = (name: string, more: PersonClaims = {}): PersonClaims => ({
  email: `${name}@example.org`,
  email_verified: true,
  preferred_username: name,
  ...more,
});
