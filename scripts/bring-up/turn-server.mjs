// Starts Debian's coturn on this machine, for browsers that cannot send UDP to the host.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '../lib/prepare.mjs';
import { comesUp, connects } from './replicas.mjs';
import { supervise } from './supervise.mjs';

const STOP_MS = 2_000;
const TURN_PORT = 3478;
const TURNS_PORT = 5349;

/** @type {import('./ports.mjs').WantedPort} */
export const turnPort = { port: TURN_PORT, what: 'the TURN server, UDP and TCP', variable: null };

/**
 * Contents of turnserver.conf: the shipped example for a public server, with these addresses and this secret. Pure.
 * @param {object} wanted
 * @param {string} wanted.shipped the example
 * @param {readonly string[]} wanted.addresses this machine's addresses, to which the server may relay although they are
 *   private: the host is on this machine
 * @param {string} wanted.secret
 * @param {string} wanted.directory of the server's own files
 * @param {boolean} wanted.asRoot true: the server runs as the user of Debian's package
 * @param {{certFile: string, keyFile: string} | null} wanted.tls null: the server has no TLS
 */
export function turnServerConf({ shipped, addresses, secret, directory, asRoot, tls }) {
  const own = new Set([
    'static-auth-secret',
    'external-ip',
    'cert',
    'pkey',
    'tls-listening-port',
    'log-file',
  ]);
  const kept = shipped
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#') && !own.has(line.split('=')[0] ?? ''));
  return [
    ...kept,
    `static-auth-secret=${secret}`,
    ...addresses.flatMap((address) => [
      `listening-ip=${address}`,
      `relay-ip=${address}`,
      `allowed-peer-ip=${address}`,
    ]),
    ...(tls === null
      ? ['no-tls']
      : [`tls-listening-port=${TURNS_PORT}`, `cert=${tls.certFile}`, `pkey=${tls.keyFile}`]),
    // The user turnserver has a database of its own, and cannot read the directory.
    ...(asRoot
      ? ['proc-user=turnserver', 'proc-group=turnserver']
      : [`userdb=${path.join(directory, 'users.db')}`]),
    `pidfile=${path.join(directory, 'turnserver.pid')}`,
    'log-file=stdout',
    '',
  ].join('\n');
}

/**
 * @param {object} wanted
 * @param {import('./places.mjs').Places} wanted.places
 * @param {readonly string[]} wanted.addresses this machine's addresses, the best one first
 * @param {(line: string) => void} wanted.say
 * @returns {Promise<{env: Record<string, string>, stop: (limitMs: number) => Promise<void>}>} env: variables of the
 *   control plane
 */
export async function startTurnServer({ places, addresses, say }) {
  const [address] = addresses;
  if (address === undefined)
    throw new Error('--turn needs an address besides loopback, which browsers do not use.');
  if (process.env.SERVICE_TURN_URLS || process.env.SERVICE_TURN_SECRET)
    throw new Error(
      '--turn sets SERVICE_TURN_URLS and SERVICE_TURN_SECRET. Unset them, or leave out --turn.',
    );
  const directory = path.join(places.controlDir, 'turn');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const secretFile = path.join(directory, 'secret');
  if (!existsSync(secretFile))
    writeFileSync(secretFile, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  const { SERVICE_TLS_CERT: certFile, SERVICE_TLS_KEY: keyFile } = process.env;
  // Browsers refuse the instance's generated certificate for TURN, and cannot ask the person.
  const tls = certFile && keyFile ? { certFile, keyFile } : null;
  const conf = path.join(directory, 'turnserver.conf');
  const shipped = readFileSync(path.join(root, 'deploy', 'coturn', 'turnserver.conf'), 'utf8');
  const secret = readFileSync(secretFile, 'utf8').trim();
  writeFileSync(conf, turnServerConf({ shipped, addresses, secret, directory, asRoot: places.asRoot, tls }), {
    mode: 0o600,
  });
  const server = supervise(
    {
      name: 'TURN server',
      command: ['turnserver', '-c', conf],
      logFile: path.join(places.logDir, 'turn-server.log'),
      env: process.env,
    },
    say,
  );
  try {
    await comesUp(server, 'TURN server', () => connects(TURN_PORT, address));
  } catch (error) {
    await server.stop(STOP_MS);
    throw error;
  }
  const host = nameOf(address);
  const urls = [`turn:${host}:${TURN_PORT}?transport=udp`, `turn:${host}:${TURN_PORT}?transport=tcp`];
  if (tls !== null) {
    const name = process.env.PUBLIC_BASE_URL ? new URL(process.env.PUBLIC_BASE_URL).hostname : host;
    urls.push(`turns:${name}:${TURNS_PORT}?transport=tcp`);
  }
  return {
    env: { SERVICE_TURN_URLS: urls.join(','), SERVICE_TURN_SECRET_FILE: secretFile },
    stop: (limitMs) => server.stop(limitMs),
  };
}

/** @param {string} address */
const nameOf = (address) => (address.includes(':') ? `[${address}]` : address);
