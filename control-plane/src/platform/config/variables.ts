import { MAX_KEPT_RUNS } from '@footlight/protocol/rest';
import { z } from 'zod';
import {
  absolutePath,
  busServers,
  buttonName,
  choice,
  clientVersion,
  databaseUrl,
  dnsNames,
  emailAddress,
  fileServer,
  headerList,
  hostList,
  httpsUrl,
  httpUrl,
  iceServers,
  intervalMs,
  lenientIntervalMs,
  listenAddress,
  nameList,
  oidcIssuer,
  oidcScopes,
  originList,
  port,
  positiveDurationMs,
  previousSecretKeys,
  printableSecret,
  proxyList,
  registryHosts,
  secretKey,
  timeZone,
  trimmed,
  turnUrls,
  webhookSecret,
  webhookUrl,
  wholeNumber,
} from './config-values.ts';

const text = z.string();

/** Maximum of 256 MiB, because a picture is kept in memory while it is read. */
const MAX_ARTWORK_BYTES = 256 * 1024 * 1024;

/** All variables of the control plane with their parsers. Unset variables have no key in the result. */
export const VARIABLES = {
  SERVICE_DATA_DIR: absolutePath,
  DATABASE_URL: databaseUrl,
  SERVICE_BUS_URL: busServers,
  SERVICE_BUS_NKEY_FILE: absolutePath,
  SERVICE_BUS_CA_FILE: absolutePath,
  SERVICE_ENV: text,
  SERVICE_LOG_LEVEL: choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
  SERVICE_WEB_DIR: absolutePath,

  CONTROL_PORT: port,
  LISTEN_ADDR: listenAddress,
  SERVICE_TLS: choice('auto', 'off'),
  SERVICE_TLS_PORT: port,
  SERVICE_TLS_ADDR: listenAddress,
  SERVICE_TLS_DIR: absolutePath,
  SERVICE_TLS_CERT: absolutePath,
  SERVICE_TLS_KEY: absolutePath,
  SERVICE_TLS_HOSTS: hostList,
  SERVICE_PUBLIC_HOST: hostList,
  SERVICE_ACME_HOSTS: dnsNames,
  SERVICE_ACME_EMAIL: emailAddress,
  SERVICE_ACME_URL: httpsUrl,
  SERVICE_ACME_CA_FILE: absolutePath,
  SERVICE_HTTP_REDIRECT: choice('auto', 'off'),
  SERVICE_TLS_REDIRECT_PORT: port,
  PUBLIC_BASE_URL: httpUrl,
  SERVICE_TRUSTED_PROXIES: proxyList,
  SERVICE_CONNECTIONS_PER_ADDRESS: wholeNumber(0),
  SERVICE_DRAIN_SECS: wholeNumber(0, 300),
  SERVICE_METRICS_ADDR: listenAddress,
  SERVICE_METRICS_TOKEN: printableSecret,
  SERVICE_ALLOWED_ORIGINS: originList,

  AUTH_TOKEN_TTL: positiveDurationMs,
  REGISTRATION_MODE: choice('closed', 'invite_only', 'open'),
  SERVICE_MIN_CLIENT_VERSION: clientVersion,
  SERVICE_LATEST_CLIENT_VERSION: clientVersion,
  SERVICE_SETUP_TOKEN_PATH: absolutePath,
  BOOTSTRAP_ADMIN_EMAIL: text,
  BOOTSTRAP_ADMIN_USERNAME: text,
  BOOTSTRAP_ADMIN_PASSWORD: text,

  SERVICE_OIDC_ISSUER: oidcIssuer,
  SERVICE_OIDC_CLIENT_ID: trimmed,
  SERVICE_OIDC_CLIENT_SECRET: trimmed,
  SERVICE_OIDC_NAME: buttonName,
  SERVICE_OIDC_SCOPES: oidcScopes,
  SERVICE_OIDC_REGISTRATION: choice('setting', 'always', 'never'),
  SERVICE_OIDC_ADMIN_GROUP: trimmed,
  SERVICE_OIDC_GROUPS_CLAIM: trimmed,

  SERVICE_DEV_AGENT_AUTH: text,
  SERVICE_DEV_AGENT_KEY_PATH: absolutePath,

  SERVICE_JOBS: choice('0', '1', 'false', 'true'),
  SERVICE_JOBS_TICK_SECS: wholeNumber(1, 3_600),
  SERVICE_JOBS_TIMEZONE: timeZone,
  SERVICE_JOBS_RUN_RETENTION: wholeNumber(1, MAX_KEPT_RUNS),
  SERVICE_JOBS_RUN_RETENTION_DAYS: wholeNumber(0, 36_500),
  SERVICE_JOBS_CLAIM_TIMEOUT_SECS: wholeNumber(1),

  SERVICE_BACKUP_DIR: absolutePath,
  SERVICE_BACKUP_KEEP: wholeNumber(0, 365),
  SERVICE_BACKUP_BEFORE_MIGRATION: choice('0', '1', 'false', 'true'),

  SERVICE_STORAGE_PROVIDER: choice('auto', 'local', 'volume'),
  SERVICE_SEED_FILE: absolutePath,

  SERVICE_ARTWORK_DIR: absolutePath,
  SERVICE_ARTWORK_PROVIDER: choice('steamgriddb', 'none'),
  SERVICE_ARTWORK_MAX_BYTES: wholeNumber(1, MAX_ARTWORK_BYTES),
  SERVICE_ARTWORK_SWEEP_INTERVAL: intervalMs,

  SERVICE_LIBRARY_SCAN_INTERVAL: intervalMs,
  SERVICE_STEAM_APPDETAILS_LOOKUP: choice('1', '0', 'true', 'false'),
  SERVICE_LIBRARY_PROVIDERS: nameList,

  SERVICE_SECRET_KEY: secretKey,
  SERVICE_SECRET_KEY_PREVIOUS: previousSecretKeys,
  SERVICE_STEAMGRIDDB_API_KEY: trimmed,

  SERVICE_IMAGE_CATALOG_REPO: trimmed,
  SERVICE_IMAGE_CATALOG_PATH: trimmed,
  SERVICE_IMAGE_CATALOG_BASE_URL: fileServer,
  SERVICE_IMAGE_REGISTRY_HOSTS: registryHosts,

  SERVICE_ENROLLMENT_TOKEN: text,
  SERVICE_PLACEMENT_POLICY: choice('', 'spread', 'least-loaded', 'locality'),
  SERVICE_VRAM_MIN_FREE_MB: wholeNumber(0),
  SERVICE_VRAM_INFLIGHT_ESTIMATE_MB: wholeNumber(0),
  SERVICE_VRAM_STALENESS_SECS: wholeNumber(1),
  SERVICE_SESSION_GRACE_SECS: wholeNumber(1),
  SERVICE_ICE_SERVERS: iceServers,
  SERVICE_TURN_URLS: turnUrls,
  SERVICE_TURN_SECRET: printableSecret,
  SERVICE_BENCH_APP: trimmed,

  SERVICE_TELEMETRY_ROLLING_WINDOW: positiveDurationMs,
  SERVICE_TELEMETRY_POSTMORTEM_RETENTION: positiveDurationMs,
  SERVICE_TELEMETRY_RETAIN_INTERVAL: lenientIntervalMs,

  SERVICE_WEBHOOK_URL: webhookUrl,
  SERVICE_WEBHOOK_SECRET: webhookSecret,

  OTEL_SDK_DISABLED: choice('true', 'false'),
  OTEL_TRACES_EXPORTER: choice('otlp', 'none'),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl,
  OTEL_EXPORTER_OTLP_HEADERS: headerList,
  OTEL_SERVICE_NAME: trimmed,
} as const;

export type VariableName = keyof typeof VARIABLES;
export type Values = { [Name in VariableName]?: z.output<(typeof VARIABLES)[Name]> };

/** Variables whose values --print-config masks. */
export const SECRET_VARIABLES: ReadonlySet<VariableName> = new Set<VariableName>([
  'DATABASE_URL',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'BOOTSTRAP_ADMIN_PASSWORD',
  'SERVICE_ENROLLMENT_TOKEN',
  'SERVICE_ICE_SERVERS',
  'SERVICE_METRICS_TOKEN',
  'SERVICE_OIDC_CLIENT_SECRET',
  'SERVICE_SECRET_KEY',
  'SERVICE_SECRET_KEY_PREVIOUS',
  'SERVICE_STEAMGRIDDB_API_KEY',
  'SERVICE_TURN_SECRET',
  'SERVICE_WEBHOOK_SECRET',
  // Receivers often have a token in their address.
  'SERVICE_WEBHOOK_URL',
]);

/** Variables for which an empty value has another meaning than no value. */
export const EMPTY_COUNTS: ReadonlySet<VariableName> = new Set<VariableName>(['SERVICE_ALLOWED_ORIGINS']);

/** Only the value 1 switches the feature on, so that a typing error does not. */
export const isDevAgentAuthOn = (values: Values): boolean => values.SERVICE_DEV_AGENT_AUTH === '1';
