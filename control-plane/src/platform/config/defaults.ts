/** Defaults of the variables. */
import { join } from 'node:path';
import { DEFAULT_ARTWORK_BYTES } from '@footlight/protocol/rest';
import type { z } from 'zod';
import { BUILT_WEB_APP } from '../../install-location.ts';
import { VARIABLES, type Values, type VariableName } from './variables.ts';

const DATA_DIR = '/var/lib/service-control';
const HTTP_PORT = 8080;
const TLS_PORT = 8443;
const VRAM_MIN_FREE_MB = 1024;

/**
 * The default of each variable as the text that --print-config shows. Some depend on variables that are set. A port 0
 * means any free port, so no other variable gets it as its default. A variable without an entry has no default.
 */
const DEFAULTS = {
  SERVICE_DATA_DIR: DATA_DIR,
  DATABASE_URL: ({ SERVICE_DATA_DIR: dir = DATA_DIR }) => `sqlite:${join(dir, 'control.db')}`,
  SERVICE_LOG_LEVEL: 'info',
  SERVICE_WEB_DIR: BUILT_WEB_APP,

  CONTROL_PORT: ({ LISTEN_ADDR }) => String(LISTEN_ADDR?.port || HTTP_PORT),
  LISTEN_ADDR: ({ CONTROL_PORT = HTTP_PORT }) => `:${CONTROL_PORT}`,
  SERVICE_TLS: 'auto',
  SERVICE_TLS_PORT: ({ SERVICE_TLS_ADDR }) => String(SERVICE_TLS_ADDR?.port || TLS_PORT),
  SERVICE_TLS_ADDR: ({ SERVICE_TLS_PORT = TLS_PORT }) => `:${SERVICE_TLS_PORT}`,
  SERVICE_TLS_DIR: ({ SERVICE_DATA_DIR: dir = DATA_DIR }) => join(dir, 'tls'),
  SERVICE_HTTP_REDIRECT: 'auto',
  SERVICE_ACME_URL: 'https://acme-v02.api.letsencrypt.org/directory',
  SERVICE_TLS_REDIRECT_PORT: ({ SERVICE_TLS_PORT, SERVICE_TLS_ADDR }) =>
    String(SERVICE_TLS_PORT ?? (SERVICE_TLS_ADDR?.port || TLS_PORT)),
  SERVICE_CONNECTIONS_PER_ADDRESS: '1000',
  SERVICE_DRAIN_SECS: '0',

  AUTH_TOKEN_TTL: '24h',
  REGISTRATION_MODE: 'closed',
  SERVICE_SETUP_TOKEN_PATH: '/run/service/setup-token',
  SERVICE_OIDC_NAME: 'single sign-on',
  SERVICE_OIDC_SCOPES: 'openid email profile',
  SERVICE_OIDC_REGISTRATION: 'setting',
  SERVICE_OIDC_GROUPS_CLAIM: 'groups',
  SERVICE_DEV_AGENT_KEY_PATH: '/run/service/dev-agent-key',

  SERVICE_JOBS: '1',
  SERVICE_JOBS_TICK_SECS: '10',
  SERVICE_JOBS_TIMEZONE: 'UTC',
  SERVICE_JOBS_RUN_RETENTION: '50',
  SERVICE_JOBS_RUN_RETENTION_DAYS: '30',
  SERVICE_JOBS_CLAIM_TIMEOUT_SECS: '3600',

  SERVICE_BACKUP_DIR: ({ SERVICE_DATA_DIR: dir = DATA_DIR }) => join(dir, 'backups'),
  SERVICE_BACKUP_KEEP: '14',
  SERVICE_BACKUP_BEFORE_MIGRATION: '1',

  SERVICE_STORAGE_PROVIDER: 'auto',

  SERVICE_ARTWORK_DIR: ({ SERVICE_DATA_DIR: dir = DATA_DIR }) => join(dir, 'artwork'),
  SERVICE_ARTWORK_PROVIDER: 'steamgriddb',
  SERVICE_ARTWORK_MAX_BYTES: String(DEFAULT_ARTWORK_BYTES),

  SERVICE_LIBRARY_PROVIDERS: 'steam',

  SERVICE_IMAGE_CATALOG_PATH: 'image-manifest.json',
  SERVICE_IMAGE_CATALOG_BASE_URL: 'https://raw.githubusercontent.com',
  SERVICE_IMAGE_REGISTRY_HOSTS: 'ghcr.io',

  SERVICE_PLACEMENT_POLICY: 'spread',
  SERVICE_VRAM_MIN_FREE_MB: String(VRAM_MIN_FREE_MB),
  SERVICE_VRAM_INFLIGHT_ESTIMATE_MB: ({ SERVICE_VRAM_MIN_FREE_MB = VRAM_MIN_FREE_MB }) =>
    String(SERVICE_VRAM_MIN_FREE_MB),
  SERVICE_VRAM_STALENESS_SECS: '20',
  SERVICE_SESSION_GRACE_SECS: '600',
  SERVICE_ICE_SERVERS: '[]',
  SERVICE_BENCH_APP: 'Diagnostics',

  SERVICE_TELEMETRY_ROLLING_WINDOW: '1h',
  SERVICE_TELEMETRY_POSTMORTEM_RETENTION: '24h',

  OTEL_SERVICE_NAME: 'footlight',
} as const satisfies Partial<Record<VariableName, string | ((given: Values) => string)>>;

type DefaultedName = keyof typeof DEFAULTS;
/** The values of all variables; those with a default are never missing. */
export type CompleteValues = Values & {
  [Name in DefaultedName]: z.output<(typeof VARIABLES)[Name]>;
};

/** @param given the variables that are set @returns null: the variable has no default */
export function defaultOf(name: VariableName, given: Values): string | null {
  const entry = (DEFAULTS as Partial<Record<VariableName, string | ((given: Values) => string)>>)[name];
  return (typeof entry === 'function' ? entry(given) : entry) ?? null;
}

/** Adds the defaults of the variables that are not set. */
export function withDefaults(given: Values): CompleteValues {
  const values: Values = { ...given };
  for (const name of Object.keys(DEFAULTS) as DefaultedName[])
    if (given[name] === undefined)
      Object.assign(values, { [name]: VARIABLES[name].parse(defaultOf(name, given)) });
  return values as CompleteValues;
}
