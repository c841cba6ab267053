/** Signs in and out: login, logout. */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { connect, type PeerCertificate } from 'node:tls';
import { errorText, SECOND_MS } from '@footlight/platform';
import { operations, type Success } from '@footlight/protocol/rest';
import { type Client, createClient } from './client.ts';
import {
  accessOf,
  credentialsFile,
  fingerprintOf,
  originOf,
  readAnyCredentials,
  removeCredentials,
  writeCredentials,
} from './credentials.ts';
import { CliFailure, EXIT, wrongUsage } from './failure.ts';
import { requestOf } from './request.ts';
import type { Terminal } from './terminal.ts';
import { localTime } from './terminal-text.ts';

export interface LoginOptions {
  readonly email?: string;
  readonly passwordFile?: string;
  readonly tokenFile?: string;
  readonly fingerprint?: string;
}

/** Checks the certificate, signs in, and stores address, certificate and token. */
export async function login(terminal: Terminal, address: string, options: LoginOptions): Promise<void> {
  if (options.passwordFile !== undefined && options.tokenFile !== undefined)
    throw wrongUsage('Use either --password-file or --token-file.');
  const url = originOf(address);
  const fingerprint = await trustedFingerprint(terminal, url, options.fingerprint);
  const open = (token: string | null) => createClient({ url, fingerprint, token }, terminal.clock);
  const token =
    options.tokenFile === undefined
      ? await tokenByPassword(terminal, open(null), options)
      : await readSecret(terminal, options.tokenFile);
  const client = open(token);
  try {
    const { body } = await client.call(requestOf(operations['me.read'], new Map()));
    const { user } = body as Success<'me.read'>;
    writeCredentials(credentialsFile(terminal.environment, terminal.home), { url, fingerprint, token });
    terminal.out(`Signed in to ${url} as ${user.username}.\n`);
    if (user.role !== 'admin')
      terminal.err('This account is no administrator, so the control plane refuses most commands.\n');
  } finally {
    await client.close();
  }
}

async function tokenByPassword(terminal: Terminal, client: Client, options: LoginOptions): Promise<string> {
  try {
    const email = options.email ?? (await terminal.ask('Email', false));
    const password =
      options.passwordFile === undefined
        ? await terminal.ask('Password', true)
        : await readSecret(terminal, options.passwordFile);
    const operation = operations['auth.login'];
    const { body } = await client.call({ operation, path: operation.path, body: { email, password } });
    return (body as Success<'auth.login'>).access_token;
  } finally {
    await client.close();
  }
}

/** Revokes the stored token and deletes the file, even if the control plane cannot be reached. */
export async function logout(terminal: Terminal): Promise<void> {
  const file = credentialsFile(terminal.environment, terminal.home);
  let credentials: ReturnType<typeof readAnyCredentials>;
  try {
    credentials = readAnyCredentials(file);
  } catch (error) {
    // A damaged file is deleted too.
    removeCredentials(file);
    terminal.err('The token could not be revoked, so it stays valid until it expires.\n');
    throw error;
  }
  if (credentials === null) return terminal.out('Nobody was signed in.\n');
  const client = createClient(credentials, terminal.clock);
  try {
    await client.call(requestOf(operations['auth.logout'], new Map()));
  } catch (error) {
    // A refused token is no longer valid, so nothing has to be revoked.
    if (!(error instanceof CliFailure && error.exitCode === EXIT.signIn)) {
      terminal.err('The token could not be revoked, so it stays valid until it expires.\n');
      throw error;
    }
  } finally {
    removeCredentials(file);
    await client.close();
  }
  terminal.out(`Signed out of ${credentials.url}.\n`);
}

/** The text of a file without its final line break; `-` is standard input. */
export async function readSecret(terminal: Terminal, file: string): Promise<string> {
  let text: string;
  try {
    text = file === '-' ? await terminal.readInput() : readFileSync(file, 'utf8');
  } catch (error) {
    throw wrongUsage(errorText(error));
  }
  const secret = text.replace(/\r?\n$/, '');
  if (secret === '') throw wrongUsage(`${file} is empty.`);
  return secret;
}

/** Address, certificate and token for a command that is not a login. */
export const openClient = (terminal: Terminal): Client =>
  createClient(
    accessOf(terminal.environment, credentialsFile(terminal.environment, terminal.home)),
    terminal.clock,
    terminal.interrupted,
  );

/**
 * Decides which certificate later requests accept.
 * @returns null: the certificate is verified as usual
 */
async function trustedFingerprint(
  terminal: Terminal,
  url: string,
  given: string | undefined,
): Promise<string | null> {
  const expected = given === undefined ? null : fingerprintOf(given);
  if (new URL(url).protocol === 'http:') return null;
  const { certificate, problem } = await presentedBy(terminal, url);
  if (expected !== null) {
    if (certificate.fingerprint256 === expected) return expected;
    throw new CliFailure(
      EXIT.unreachable,
      'certificate_changed',
      `${url} has the certificate ${certificate.fingerprint256}, not ${expected}.`,
      'Compare the fingerprint with the one on the machine of the control plane.',
    );
  }
  if (problem === null) return null;
  const until = localTime(Date.parse(certificate.valid_to), terminal.timeZone);
  const shown = [
    `The certificate of ${url} cannot be verified: ${problem}`,
    `  SHA-256 ${certificate.fingerprint256}`,
    `  of ${[certificate.subject?.CN].flat().join(', ') || 'no name'}, valid until ${until}`,
    'Compare it with the page /admin/setup, or on the machine of the control plane with:',
    '  sudo openssl x509 -noout -fingerprint -sha256 -in /var/lib/service-control/tls/cert.pem',
  ];
  terminal.err(`${shown.join('\n')}\n`);
  if (!terminal.isInteractive)
    throw new CliFailure(
      EXIT.unreachable,
      'certificate_unknown',
      'The certificate is not trusted.',
      'Compare the fingerprint, then repeat the command with --fingerprint SHA-256.',
    );
  const answer = await terminal.ask('Trust this certificate? (yes/no)', false);
  if (!['y', 'yes'].includes(answer.trim().toLowerCase()))
    throw new CliFailure(EXIT.unreachable, 'certificate_unknown', 'The certificate is not trusted.');
  return certificate.fingerprint256;
}

const CONNECT_LIMIT_MS = 10 * SECOND_MS;

/** The certificate that a server presents. Nothing is sent to the server. @param problem null: it is valid */
function presentedBy(
  terminal: Terminal,
  url: string,
): Promise<{ certificate: PeerCertificate; problem: string | null }> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => {
      timer.cancel();
      socket.destroy();
      const remedy = 'Check the address, and that the control plane runs.';
      reject(new CliFailure(EXIT.unreachable, 'unreachable', `${url} cannot be reached: ${reason}`, remedy));
    };
    const servername = isIP(host) === 0 ? { servername: host } : {};
    const socket = connect({ host, port: Number(port || 443), rejectUnauthorized: false, ...servername });
    const timer = terminal.clock.setTimeout(() => fail('no answer'), CONNECT_LIMIT_MS);
    socket.once('error', (error) => fail(errorText(error)));
    socket.once('secureConnect', () => {
      timer.cancel();
      const certificate = socket.getPeerCertificate();
      const problem = socket.authorized ? null : String(socket.authorizationError);
      socket.destroy();
      resolve({ certificate, problem });
    });
  });
}
