import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '@footlight/platform';

/** Address of an engine. */
export type EngineAddress =
  | { kind: 'socket'; path: string }
  | { kind: 'tcp'; protocol: 'http' | 'https'; host: string; port: number };

/** Default ports of docker. Source: https://docs.docker.com/reference/cli/dockerd/, "-H". */
const PLAIN_PORT = 2375;
const TLS_PORT = 2376;

/** @param url value of SERVICE_CONTAINER_ENGINE, checked by the configuration. @throws when it is malformed */
export function engineAddress(url: string): EngineAddress {
  if (url.startsWith('unix://')) return { kind: 'socket', path: url.slice('unix://'.length) };
  const { protocol, hostname, port } = new URL(url);
  const scheme = protocol === 'https:' ? 'https' : 'http';
  const fallback = scheme === 'https' ? TLS_PORT : PLAIN_PORT;
  return { kind: 'tcp', protocol: scheme, host: hostname, port: port === '' ? fallback : Number(port) };
}

/**
 * Default sockets of podman, then docker. A rootless engine belongs to its user, so an agent without root rights tries
 * its own runtime directory first. Source: podman-system-service(1), dockerd(8).
 */
export function defaultSockets(isRoot: boolean, env: Environment): string[] {
  const own = env.XDG_RUNTIME_DIR;
  const rootless = isRoot || !own ? [] : [join(own, 'podman/podman.sock'), join(own, 'docker.sock')];
  const ofTheMachine = isRoot
    ? ['/run/podman/podman.sock', '/var/run/docker.sock']
    : ['/var/run/docker.sock'];
  return [...rootless, ...ofTheMachine];
}

/** The configured engine, or the first socket that exists if none is configured; null: no engine was found. */
export function findEngine(
  configured: string | null,
  isRoot: boolean,
  env: Environment,
): EngineAddress | null {
  if (configured !== null) return engineAddress(configured);
  const path = defaultSockets(isRoot, env).find((socket) => existsSync(socket));
  return path === undefined ? null : { kind: 'socket', path };
}
