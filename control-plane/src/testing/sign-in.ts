import type { Person, TestApp } from './app.ts';

export const PASSWORD = 'correct horse battery';

/** Settings of an instance with open registration and a cheap password hash. */
export const OPEN_REGISTRATION = { REGISTRATION_MODE: 'open' };
export const CHEAP_HASHES = { memoryCost: 64, timeCost: 1, parallelism: 1 };
const BOTTOMLESS = { capacity: 1_000_000, refillEveryMs: 1 };
/** Account limits that never slow down sign-ins and password changes. */
/** Allows many waiting requests of one address. */
export const ROOMY_QUEUE = { parallel: 2, waiting: 1_000, knownOnly: 0, perAddress: 1_000 };
export const FREE_SIGN_IN = {
  signIn: BOTTOMLESS,
  perUser: BOTTOMLESS,
  failedLogins: BOTTOMLESS,
  hashCost: CHEAP_HASHES,
  hashQueue: ROOMY_QUEUE,
};

/** Registers an account with a password and signs in. */
export async function signUp(app: TestApp, username: string, device_key?: string): Promise<Person> {
  const email = `${username}@example.test`;
  const body = { email, username, password: PASSWORD };
  const made = await app.call(null, 'POST', '/v1/auth/register', { body });
  if (made.status !== 201) throw new Error(`${username} was not registered: ${made.text}`);
  return signIn(app, username, device_key);
}

/** @returns the account with a new token, which is bound to a device if a key is given */
export async function signIn(
  app: TestApp,
  username: string,
  device_key?: string,
  password = PASSWORD,
): Promise<Person> {
  const body = { email: `${username}@example.test`, password, ...(device_key && { device_key }) };
  const answer = await app.call(null, 'POST', '/v1/auth/login', { body });
  if (answer.status !== 200) throw new Error(`${username} was not signed in: ${answer.text}`);
  return { ...answer.body.user, token: answer.body.access_token };
}
