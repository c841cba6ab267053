/** The stored sign-in: address, trusted certificate and token. */
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Environment, lookUpVariable } from '@footlight/platform';
import { z } from 'zod';
import { type Access, isLoopback } from './client.ts';
import { CliFailure, EXIT, wrongUsage } from './failure.ts';

const stored = z.object({
  url: z.string(),
  fingerprint: z.string().nullable(),
  token: z.string(),
});
export type Credentials = z.output<typeof stored>;

/** Only the owner may read or write. */
const OWNER_ONLY = 0o600;

export function credentialsFile(environment: Environment, home: string): string {
  const folder = environment.XDG_CONFIG_HOME || path.join(home, '.config');
  return path.join(folder, 'footlight', 'credentials.json');
}

/**
 * @returns null: there is no credentials file, so the person must run `footlight login` first
 * @throws CliFailure if the file is damaged, or other users can read it
 */
export function readCredentials(file: string): Credentials | null {
  const { mode } = statSync(file, { throwIfNoEntry: false }) ?? { mode: 0 };
  if ((mode & 0o077) !== 0)
    throw new CliFailure(
      EXIT.signIn,
      'credentials_readable',
      `Other users may read ${file}.`,
      'Sign out and in again, so that the token is replaced: footlight logout; footlight login URL',
    );
  return readAnyCredentials(file);
}

/** Like `readCredentials`, also if other users can read the file: to revoke its token. */
export function readAnyCredentials(file: string): Credentials | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const parsed = stored.safeParse(jsonOrNull(text));
  if (parsed.success) return parsed.data;
  throw new CliFailure(EXIT.signIn, 'credentials_damaged', `${file} is damaged.`, 'Run: footlight login URL');
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

export function writeCredentials(file: string, credentials: Credentials): void {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const partial = `${file}.${process.pid}`;
  rmSync(partial, { force: true });
  writeFileSync(partial, `${JSON.stringify(credentials, null, 2)}\n`, { mode: OWNER_ONLY, flag: 'wx' });
  renameSync(partial, file);
}

export const removeCredentials = (file: string): void => rmSync(file, { force: true });

/**
 * Address, certificate and token of a command. The stored token belongs to the stored address only, so it is not used
 * if FOOTLIGHT_URL names another one.
 */
export function accessOf(environment: Environment, file: string): Access {
  const token = variable(environment, 'FOOTLIGHT_TOKEN');
  const given = environment.FOOTLIGHT_URL ? originOf(environment.FOOTLIGHT_URL) : null;
  // Scripts with both variables need no file, so a damaged one does not stop them.
  const saved = given !== null && token !== null ? null : readCredentials(file);
  const url = given ?? saved?.url;
  if (url === undefined)
    throw new CliFailure(EXIT.signIn, 'not_signed_in', 'Nobody is signed in.', 'Run: footlight login URL');
  const own = saved !== null && saved.url === url ? saved : null;
  const fingerprint = environment.FOOTLIGHT_FINGERPRINT || null;
  return {
    url,
    fingerprint: fingerprint === null ? (own?.fingerprint ?? null) : fingerprintOf(fingerprint),
    token: token ?? own?.token ?? null,
  };
}

function variable(environment: Environment, name: string): string | null {
  const found = lookUpVariable(environment, name);
  if ('problem' in found) throw wrongUsage(`${found.problem.variable}: ${found.problem.expected}`);
  return found.text;
}

/** The origin of an address. @throws CliFailure unless it is https, or http on this machine */
export function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw wrongUsage('The address must have the form https://HOST[:PORT].');
  if (url.protocol === 'http:' && !isLoopback(url))
    throw wrongUsage('The address must begin with https, because a token is sent to it.');
  return url.origin;
}

/** A SHA-256 fingerprint as 32 pairs with colons. @throws CliFailure for another form */
export function fingerprintOf(text: string): string {
  const digits = text.replaceAll(':', '').toUpperCase();
  if (!/^[0-9A-F]{64}$/.test(digits))
    throw wrongUsage('A fingerprint is the SHA-256 of the certificate: 64 hexadecimal digits.');
  return digits.match(/../g)?.join(':') ?? '';
}
