import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { type Environment, lookUpVariable } from '@footlight/platform';
import {
  FIXED_TOKEN_PATTERN,
  HOST_SETTINGS,
  NODE_NAME_PATTERN,
  parseSettingText,
  type SettingValue,
  settingExpectation,
} from '@footlight/protocol/agent';
import { describeIgnored } from '@footlight/protocol/environment';
import ipaddr from 'ipaddr.js';
import { IGNORED_VARIABLES } from './ignored-variables.ts';

const FINGERPRINT = /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/;
/** Largest number of replicas of one control plane. */
const MAX_CONTROL_URLS = 16;
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/** An unusable environment variable; the message names it and the expected form. */
export class ConfigError extends Error {
  constructor(
    readonly variable: string,
    readonly expected: string,
  ) {
    super(`${variable}: expected ${expected}`);
    this.name = 'ConfigError';
  }
}

export interface MountRoot {
  path: string;
  writable: boolean;
}

export interface AgentConfig {
  /** http(s) base addresses of the control plane's replicas, without a trailing slash; at least one. */
  controlUrls: readonly URL[];
  /** PEM certificates trusted in addition to the system's certificates; null: trust only the system's. */
  controlCa: string | null;
  /**
   * SHA-256 of the control plane's leaf certificate, upper-case hex pairs with colons; null: no certificate is pinned.
   */
  controlFingerprint: string | null;
  /** Secret. A single-use enrollment token or the instance's fixed token; null: the agent must already be enrolled. */
  enrollmentToken: string | null;
  nodeName: string;
  stateDir: string;
  /** Seconds that sessions continue without the control plane; 0: no limit. */
  orphanSecs: number;
  mountRoots: MountRoot[];
  /** One number for all GPUs, or one number per GPU index; null: the encoder family decides. */
  encodeSlots: number[] | null;
  mediaAddresses: string[] | null;
  mediaPorts: [number, number] | null;
  /** Port of the fallback paths of media, TCP and UDP; null: they are off. */
  mediaFallbackPort: number | null;
  /** Whether viewers may send and fetch files of a session's home. */
  fileTransfer: boolean;
  /** Largest file that viewers may send or fetch, MiB. */
  fileTransferMaxMb: number;
  containerNetwork: 'none' | 'bridge' | 'host';
  containerEngine: string | null;
  containerRuntime: string | null;
  containerUlimits: 'host' | null;
  /** Memory limit of an app; 0: no limit. In the next two fields, 0 also means no limit. */
  appMemoryMb: number;
  appPids: number;
  appCpus: number;
  processRuntime: boolean;
  /** Inclusive range of session uids; used only when the agent runs as root. */
  processUids: [number, number];
  healthHost: string;
  healthPort: number;
  /** Host and port of the metrics page; null: the page is not served. */
  metricsAddress: [string, number] | null;
  imageSourceHosts: string[];
  logLevel: string;
  /** Host settings that are set by environment variables; all other settings have their defaults. */
  hostSettings: Record<string, SettingValue>;
  /** Warnings about values that are valid but probably a mistake. */
  warnings: string[];
}

/**
 * Reads the agent's configuration from the environment.
 *
 * Every variable NAME may also be set as NAME_FILE, the path of a file with the value. An empty value counts as unset,
 * so that unit files can list every variable.
 * @throws ConfigError at the first unusable value
 */
export function readConfig(env: Environment): AgentConfig {
  const read = (name: string): string | null => readVariable(env, name);
  const stateDir = absolutePath(read, 'SERVICE_AGENT_STATE_DIR') ?? '/var/lib/service-agent';
  const [healthHost, healthPort] = address(read, 'SERVICE_AGENT_HEALTH_ADDR') ?? ['127.0.0.1', 9091];
  const metricsAddress = address(read, 'SERVICE_AGENT_METRICS_ADDR');
  const ignored = describeIgnored(IGNORED_VARIABLES, env);
  const warnings = ignored === null ? [] : [ignored];
  if (metricsAddress !== null && !isLoopback(metricsAddress[0]))
    warnings.push(
      `SERVICE_AGENT_METRICS_ADDR: everybody who reaches ${metricsAddress[0]} can read the metrics, without a password; let a firewall admit Prometheus alone`,
    );
  return {
    controlUrls: controlUrls(read),
    controlCa: certificates(read),
    controlFingerprint: fingerprint(read),
    enrollmentToken: enrollmentToken(read),
    nodeName: nodeName(read),
    stateDir,
    orphanSecs: wholeNumber(read, 'SERVICE_AGENT_ORPHAN_SECS', 600, 0, 31_536_000),
    mountRoots: mountRoots(read),
    encodeSlots: encodeSlots(read),
    mediaAddresses: mediaAddresses(read),
    mediaPorts: range(read, 'SERVICE_MEDIA_PORTS', 1, 65_535),
    mediaFallbackPort: wholeNumber(read, 'SERVICE_MEDIA_FALLBACK_PORT', 8444, 0, 65_535) || null,
    containerNetwork: oneOf(read, 'SERVICE_CONTAINER_NETWORK', ['none', 'bridge', 'host'] as const) ?? 'none',
    containerEngine: engineSocket(read),
    containerRuntime: matching(
      read,
      'SERVICE_CONTAINER_RUNTIME',
      /^[\w./-]{1,128}$/,
      'the name of an OCI runtime',
    ),
    containerUlimits: oneOf(read, 'SERVICE_CONTAINER_ULIMITS', ['host'] as const),
    appMemoryMb: wholeNumber(read, 'SERVICE_APP_MEMORY_MB', 8192, 0, 16_777_216),
    appPids: wholeNumber(read, 'SERVICE_APP_PIDS', 4096, 0, 4_194_304),
    appCpus: number(read, 'SERVICE_APP_CPUS', 0, 0, 4096),
    processRuntime: flag(read, 'SERVICE_PROCESS_RUNTIME'),
    fileTransfer: wholeNumber(read, 'SERVICE_FILE_TRANSFER', 1, 0, 1) === 1,
    fileTransferMaxMb: wholeNumber(read, 'SERVICE_FILE_TRANSFER_MAX_MB', 2048, 1, 1_048_576),
    processUids: range(read, 'SERVICE_PROCESS_UIDS', 1, 4_294_967_293) ?? [70_000, 70_255],
    healthHost,
    healthPort,
    metricsAddress,
    imageSourceHosts: hosts(read, 'SERVICE_IMAGE_SOURCE_HOSTS'),
    logLevel: oneOf(read, 'SERVICE_LOG_LEVEL', LOG_LEVELS) ?? 'info',
    hostSettings: hostSettings(read),
    warnings,
  };
}

type Read = (name: string) => string | null;

function readVariable(env: Environment, name: string): string | null {
  const given = lookUpVariable(env, name);
  if ('problem' in given) throw new ConfigError(given.problem.variable, given.problem.expected);
  return given.text;
}

/** The agent sends the same credential to all addresses, so all must belong to replicas of one control plane. */
function controlUrls(read: Read): URL[] {
  const texts = (read('SERVICE_CONTROL_URL') ?? '').split(',').map((text) => text.trim());
  if (texts.length > MAX_CONTROL_URLS)
    throw new ConfigError('SERVICE_CONTROL_URL', `at most ${MAX_CONTROL_URLS} addresses`);
  return texts.map(controlUrl);
}

function controlUrl(text: string): URL {
  const expected =
    'an http or https address such as https://control.example:8443, or several separated by commas';
  if (!URL.canParse(text)) throw new ConfigError('SERVICE_CONTROL_URL', expected);
  const url = new URL(text);
  const plain = !url.username && !url.password && !url.search && !url.hash;
  if (!['http:', 'https:'].includes(url.protocol) || !plain)
    throw new ConfigError('SERVICE_CONTROL_URL', expected);
  url.pathname = url.pathname.replace(/\/+$/, '');
  return url;
}

function certificates(read: Read): string | null {
  const path = read('SERVICE_CONTROL_CA');
  if (path === null) return null;
  const expected = 'the path of a PEM file with at least one certificate';
  if (path.startsWith('-----BEGIN')) return path;
  try {
    const pem = readFileSync(path, 'utf8');
    if (pem.includes('-----BEGIN CERTIFICATE-----')) return pem;
  } catch {
    // An unreadable file is reported below, with the same error as a file without a certificate.
  }
  throw new ConfigError('SERVICE_CONTROL_CA', expected);
}

function fingerprint(read: Read): string | null {
  const text = read('SERVICE_CONTROL_FINGERPRINT');
  if (text === null) return null;
  const upper = text.trim().toUpperCase();
  if (!FINGERPRINT.test(upper)) {
    throw new ConfigError(
      'SERVICE_CONTROL_FINGERPRINT',
      '32 hex pairs with colons (SHA-256 of the certificate)',
    );
  }
  return upper;
}

function enrollmentToken(read: Read): string | null {
  return matching(
    read,
    'SERVICE_ENROLLMENT_TOKEN',
    FIXED_TOKEN_PATTERN,
    '16 to 256 printable ASCII characters',
  );
}

function nodeName(read: Read): string {
  const given = read('SERVICE_NODE_NAME');
  const name = given ?? hostname().toLowerCase();
  if (!NODE_NAME_PATTERN.test(name)) {
    throw new ConfigError(
      'SERVICE_NODE_NAME',
      'lower-case letters, digits, dots, underscores and hyphens, at most 63, beginning with a letter or digit',
    );
  }
  return name;
}

function absolutePath(read: Read, name: string): string | null {
  const path = read(name);
  if (path === null) return null;
  if (!isAbsolute(path) || path.includes('\0')) throw new ConfigError(name, 'an absolute path');
  return resolve(path);
}

function mountRoots(read: Read): MountRoot[] {
  const text = read('SERVICE_MOUNT_ROOTS');
  if (text === null) return [];
  const expected = 'absolute paths with colons between them, each followed by :rw where writing is allowed';
  const roots: MountRoot[] = [];
  for (const part of text.split(':')) {
    const last = roots.at(-1);
    if (part === 'rw' && last && !last.writable) last.writable = true;
    else if (isAbsolute(part)) roots.push({ path: resolve(part), writable: false });
    else throw new ConfigError('SERVICE_MOUNT_ROOTS', expected);
  }
  return roots;
}

function encodeSlots(read: Read): number[] | null {
  const text = read('SERVICE_ENCODE_SLOTS');
  if (text === null) return null;
  const slots = text.split(',').map((part) => (/^\s*\d{1,2}\s*$/.test(part) ? Number(part) : Number.NaN));
  if (slots.length > 16 || slots.some((count) => !(count >= 0 && count <= 64))) {
    throw new ConfigError(
      'SERVICE_ENCODE_SLOTS',
      'a whole number from 0 to 64, or such numbers with commas, one a GPU',
    );
  }
  return slots;
}

function mediaAddresses(read: Read): string[] | null {
  const text = read('SERVICE_MEDIA_ADDRESSES');
  if (text === null) return null;
  const addresses = text.split(',').map((part) => part.trim());
  if (!addresses.every((address) => ipaddr.isValid(address))) {
    throw new ConfigError('SERVICE_MEDIA_ADDRESSES', 'IP addresses with commas between them');
  }
  return addresses;
}

function engineSocket(read: Read): string | null {
  return matching(
    read,
    'SERVICE_CONTAINER_ENGINE',
    /^(unix:\/\/\/.+|https?:\/\/.+|tcp:\/\/.+)$/,
    'a socket URL',
  );
}

function address(read: Read, name: string): [string, number] | null {
  const text = read(name);
  if (text === null) return null;
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2] ?? '';
  const port = Number(match?.[3] ?? Number.NaN);
  const addressable = host === 'localhost' || ipaddr.isValid(host);
  if (!addressable || !(port >= 0 && port <= 65_535))
    throw new ConfigError(name, 'address:port such as 127.0.0.1:9091');
  return [host, port];
}

/** Whether an address names only this machine, so that other machines cannot connect to it. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || ipaddr.process(host).range() === 'loopback';

function hosts(read: Read, name: string): string[] {
  const text = read(name);
  if (text === null) return [];
  const names = text.split(',').map((part) => part.trim().toLowerCase());
  if (!names.every((host) => /^[a-z0-9]([a-z0-9.-]{0,253})(:\d{1,5})?$/.test(host))) {
    throw new ConfigError(name, 'host names with commas between them');
  }
  return names;
}

function hostSettings(read: Read): Record<string, SettingValue> {
  const values: Record<string, SettingValue> = {};
  for (const setting of HOST_SETTINGS) {
    const text = read(setting.env_var);
    if (text === null) continue;
    const value = parseSettingText(setting, text);
    if (value === undefined) throw new ConfigError(setting.env_var, settingExpectation(setting));
    values[setting.key] = value;
  }
  return values;
}

function matching(read: Read, name: string, pattern: RegExp, expected: string): string | null {
  const text = read(name);
  if (text !== null && !pattern.test(text)) throw new ConfigError(name, expected);
  return text;
}

function oneOf<T extends string>(read: Read, name: string, values: readonly T[]): T | null {
  const text = read(name);
  if (text === null) return null;
  const found = values.find((value) => value === text);
  if (found === undefined) throw new ConfigError(name, `one of ${values.join(', ')}`);
  return found;
}

function flag(read: Read, name: string): boolean {
  return oneOf(read, name, ['0', '1'] as const) === '1';
}

function wholeNumber(read: Read, name: string, fallback: number, min: number, max: number): number {
  const text = read(name);
  if (text === null) return fallback;
  const value = /^\d{1,15}$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) throw new ConfigError(name, `a whole number from ${min} to ${max}`);
  return value;
}

function number(read: Read, name: string, fallback: number, min: number, max: number): number {
  const text = read(name);
  if (text === null) return fallback;
  const value = /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) throw new ConfigError(name, `a number from ${min} to ${max}`);
  return value;
}

function range(read: Read, name: string, min: number, max: number): [number, number] | null {
  const text = read(name);
  if (text === null) return null;
  const match = /^(\d{1,10})-(\d{1,10})$/.exec(text.trim());
  const low = Number(match?.[1] ?? Number.NaN);
  const high = Number(match?.[2] ?? Number.NaN);
  if (!(low >= min && high <= max && low <= high)) {
    throw new ConfigError(name, `two numbers lo-hi from ${min} to ${max}`);
  }
  return [low, high];
}

/** Directory of homes: the setting home_root, or by default the folder `homes` of the state directory. */
export function homeRootOf(config: AgentConfig, values: ReadonlyMap<string, SettingValue>): string {
  const root = values.get('home_root');
  return typeof root === 'string' && root !== '' ? resolve(root) : join(config.stateDir, 'homes');
}
