// Directories and ports of an instance that scripts/up starts.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/**
 * @typedef {object} Places
 * @property {boolean} asRoot
 * @property {string} controlDir      SERVICE_DATA_DIR
 * @property {string} agentDir        SERVICE_AGENT_STATE_DIR
 * @property {string} setupToken      file with the token that authorises the claim
 * @property {string} devAgentKey the file with the key of developers' sessions, if these are enabled
 * @property {string} logDir
 * @property {string} seedFile
 * @property {string} enrollmentToken file with the fixed enrollment token of this machine's own agent
 * @property {number} httpPort
 * @property {number} httpsPort
 * @property {{host: string, port: number}} health   the agent's own health address
 * @property {number | null} fallbackPort   the agent's fallback port of media; null: it has none
 */

/**
 * For root, the directories of a service; for another user, directories below this user's data directory.
 * @param {NodeJS.ProcessEnv} env
 * @param {boolean} severalReplicas true: use other directories, because replicas use another database and must not
 * change the data of a single control plane
 * @returns {Places}
 */
export function placesFor(env, severalReplicas = false) {
  const suffix = severalReplicas ? '-replicas' : '';
  const asRoot = process.getuid?.() === 0;
  const base = path.join(env.XDG_DATA_HOME || path.join(os.homedir(), '.local', 'share'), 'footlight');
  const controlDir = path.resolve(
    env.SERVICE_DATA_DIR || `${asRoot ? '/var/lib/service-control' : path.join(base, 'control')}${suffix}`,
  );
  const agentDir = path.resolve(
    env.SERVICE_AGENT_STATE_DIR || `${asRoot ? '/var/lib/service-agent' : path.join(base, 'agent')}${suffix}`,
  );
  const [host, port] = splitAddress(env.SERVICE_AGENT_HEALTH_ADDR || '127.0.0.1:9091');
  return {
    asRoot,
    controlDir,
    agentDir,
    setupToken:
      env.SERVICE_SETUP_TOKEN_PATH ||
      (asRoot ? '/run/service/setup-token' : path.join(controlDir, 'setup-token')),
    devAgentKey:
      env.SERVICE_DEV_AGENT_KEY_PATH ||
      (asRoot ? '/run/service/dev-agent-key' : path.join(controlDir, 'dev-agent-key')),
    logDir: path.join(controlDir, 'logs'),
    seedFile: path.join(controlDir, 'seed.json'),
    enrollmentToken: path.join(controlDir, 'local-enrollment-token'),
    httpPort: portFrom(env, 'CONTROL_PORT', 8080),
    httpsPort: portFrom(env, 'SERVICE_TLS_PORT', 8443),
    health: { host, port },
    fallbackPort:
      env.SERVICE_MEDIA_FALLBACK_PORT === '0' ? null : portFrom(env, 'SERVICE_MEDIA_FALLBACK_PORT', 8444),
  };
}

/** @param {string} address host:port @returns {[string, number]} */
function splitAddress(address) {
  const colon = address.lastIndexOf(':');
  const port = Number(address.slice(colon + 1));
  if (colon < 1 || !Number.isInteger(port) || port < 1 || port > 65535) {
    throw new Error(
      `SERVICE_AGENT_HEALTH_ADDR is '${address}'; expected host:port, for example 127.0.0.1:9091.`,
    );
  }
  return [address.slice(0, colon).replace(/^\[|\]$/g, ''), port];
}

/** @param {NodeJS.ProcessEnv} env @param {string} name @param {number} fallback */
function portFrom(env, name, fallback) {
  if (!env[name]) return fallback;
  const port = Number(env[name]);
  if (!Number.isInteger(port) || port < 1 || port > 65535) {
    throw new Error(`${name} is '${env[name]}'; expected a port number from 1 to 65535.`);
  }
  return port;
}

/**
 * Creates the directories. All users can traverse the agent's directory, because each session's user has files below
 * it.
 * @param {Places} places
 */
export function makeDirectories(places) {
  try {
    mkdirSync(places.controlDir, { recursive: true, mode: 0o700 });
    mkdirSync(places.logDir, { recursive: true, mode: 0o700 });
    mkdirSync(places.agentDir, { recursive: true, mode: 0o711 });
  } catch (error) {
    throw new Error(
      `Cannot write below ${places.controlDir}: ${/** @type {Error} */ (error).message}. Set SERVICE_DATA_DIR and SERVICE_AGENT_STATE_DIR to directories of yours.`,
    );
  }
}

/**
 * Creates one fixed enrollment token, which only the two programs on this machine know.
 * @param {Places} places
 */
export function keepEnrollmentToken(places) {
  if (existsSync(places.enrollmentToken) && readFileSync(places.enrollmentToken, 'utf8').trim().length >= 16)
    return;
  writeFileSync(places.enrollmentToken, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
}

/** This machine's addresses that a browser on another machine can reach, without loopback and link-local addresses. */
export function reachableAddresses() {
  return Object.values(os.networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(
      (a) => !a.internal && !a.address.startsWith('169.254.') && !a.address.toLowerCase().startsWith('fe80:'),
    )
    .sort((a, b) => a.family.localeCompare(b.family))
    .map((a) => a.address);
}
