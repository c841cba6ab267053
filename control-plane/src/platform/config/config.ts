import type { KeyObject } from 'node:crypto';
import { DAY_MS, type Environment, lookUpVariable, SECOND_MS } from '@footlight/platform';
import type { OperationSwitch } from '@footlight/protocol/rest';
import type { NatsOptions } from '../bus/nats.ts';
import type { IntervalLock } from '../platform.ts';
import type { SecretKeys } from '../secret-keys.ts';
import {
  type FileServer,
  type IceServer,
  type ListenAddress,
  type RegistryHost,
  wideBlocks,
} from './config-values.ts';
import { contradictions } from './contradictions.ts';
import { type CompleteValues, defaultOf, withDefaults } from './defaults.ts';
import {
  EMPTY_COUNTS,
  isDevAgentAuthOn,
  SECRET_VARIABLES,
  VARIABLES,
  type Values,
  type VariableName,
} from './variables.ts';

/** Sign-in with an OpenID Connect provider. */
export interface OidcConfig {
  issuer: URL;
  clientId: string;
  clientSecret: string;
  /** Name of the provider on the button. */
  name: string;
  /** Requested scopes, separated by spaces. */
  scopes: string;
  /** Whether the first sign-in of a person creates an account. setting: only while registration is open. */
  registration: 'setting' | 'always' | 'never';
  /** Members of this group are administrators, and others are not. null: Footlight manages the roles. */
  adminGroup: string | null;
  /** Claim that lists the groups of a person. */
  groupsClaim: string;
  /** Page to which the provider sends the browser back. */
  redirectUri: string;
}

/** The validated configuration. Missing optional values are null. Paths are absolute. */
export interface Config {
  dataDir: string;
  database: { dialect: 'sqlite'; file: string } | { dialect: 'postgres'; url: string };
  /** NATS servers that connect this replica with others; null: there is only one replica. */
  bus: NatsOptions | null;
  logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
  http: {
    /** Address of the plain listener; host null: all addresses. */
    listen: ListenAddress;
    redirect: boolean;
    /** Port in the Location header of redirects. */
    redirectPort: number;
    publicBaseUrl: URL | null;
    /** CIDR blocks whose X-Forwarded-For is trusted. */
    trustedProxies: readonly string[];
    /** Maximum open connections of one client address, counted over both listeners; 0: no limit. */
    connectionsPerAddress: number;
  };
  /** Time from SIGTERM until sockets are closed, in which load balancers can see /health/ready fail. */
  drainMs: number;
  /**
   * Listener of the metrics page; null: the page is not served. token null: the listener is on a loopback address and
   * requires no token.
   */
  metrics: { listen: ListenAddress; token: string | null } | null;
  /** The collector of launch traces; null: launch traces are not sent. */
  traces: { url: URL; headers: Readonly<Record<string, string>>; serviceName: string } | null;
  /** The receiver of events, and the key that signs them; null: no event is stored or sent. */
  webhook: { url: URL; key: KeyObject } | null;
  /** null when SERVICE_TLS is off. */
  tls: {
    listen: ListenAddress;
    dir: string;
    /** The operator's PEM files; null: a generated pair in `dir` is used. */
    provided: { certFile: string; keyFile: string } | null;
    extraNames: readonly string[];
    /**
     * Names for which a certificate is ordered over ACME; null: no certificate is ordered. caFile: CA of the directory;
     * null: the CAs that Node trusts.
     */
    acme: { hosts: readonly string[]; email: string | null; directory: URL; caFile: string | null } | null;
  } | null;
  accounts: {
    tokenTtlMs: number;
    minClientVersion: string | null;
    latestClientVersion: string | null;
    setupTokenFile: string;
    /** File to which the key of SERVICE_DEV_AGENT_AUTH is written. */
    devAgentKeyFile: string;
    /** Unchecked values; they are validated when the account is created. */
    bootstrap: { email: string; username: string; password: string } | null;
    /** Initial value of the stored setting. */
    registrationMode: 'closed' | 'invite_only' | 'open';
    /** The OpenID Connect provider; null: people sign in only with a password. */
    oidc: OidcConfig | null;
  };
  settings: {
    /** null: the stored list applies; [] overrides it with an empty list. */
    allowedOrigins: readonly string[] | null;
    /** Initial value of the stored setting. */
    storageProvider: 'auto' | 'local' | 'volume';
  };
  secrets: {
    /** null: secrets can neither be stored nor read. */
    keys: SecretKeys | null;
    /** Secrets from the environment, by variable. They are used when no secret is stored. */
    environment: { SERVICE_STEAMGRIDDB_API_KEY: string | null };
  };
  catalog: { seedFile: string | null };
  artwork: {
    /** Folder of the pictures; the folder need not exist. */
    dir: string;
    provider: 'steamgriddb' | 'none';
    /** Maximum bytes of a picture. */
    maxBytes: number;
    /** Interval of look-ups for apps without pictures; null: administrators choose it. */
    sweepInterval: IntervalLock | null;
  };
  images: {
    /** Repository of the catalog; null: there is no catalog. */
    repo: string | null;
    /** Path of the manifest in the repository. */
    path: string;
    /** Server that serves the repository's files. */
    base: FileServer;
    /** Registries that may be contacted for digests. */
    registryHosts: readonly RegistryHost[];
  };
  discovery: {
    /** Interval of scans; everyMs null: scans are off. null: the stored setting applies. */
    scanInterval: { everyMs: number | null } | null;
    /** Whether the store is asked about titles. null: the stored setting applies. */
    storeLookup: boolean | null;
    /** Providers that get an app when discovery is switched on. */
    providers: readonly string[];
  };
  fleet: { enrollmentToken: string | null };
  sessions: {
    placementPolicy: 'spread' | 'locality';
    vramMinFreeMb: number;
    vramInflightEstimateMb: number;
    vramStalenessSecs: number;
    graceSecs: number;
    iceServers: readonly IceServer[];
    /** TURN servers that accept credentials made with this secret; null: there are none. */
    turn: { urls: readonly string[]; secret: string } | null;
  };
  certification: {
    /** Name of the app that encoder certification runs. */
    benchApp: string;
  };
  telemetry: {
    /** How long events of a live session are kept (ms). */
    rollingMs: number;
    /** How long events are kept after the session's end (ms); at least `rollingMs`. */
    postmortemMs: number;
    /** Interval of retention sweeps; null: administrators choose it. */
    retainInterval: IntervalLock | null;
  };
  jobs: {
    /** false: no job runs here, and hosts get no jobs. */
    isOn: boolean;
    /** Time between two checks for due runs. */
    tickMs: number;
    /** Time zone of new jobs. */
    timezone: string;
    /** Number of runs that a new job keeps for each target. */
    historyLimit: number;
    /** Age at which a run's record is deleted; null: runs are not deleted because of their age. */
    retentionMs: number | null;
    /** Time limit from a claim to its report. */
    claimTimeoutMs: number;
  };
  backups: {
    /** Folder of the backups; the folder need not exist. */
    dir: string;
    /** Number of daily backups that are kept; 0: no schedule makes one, and none of them is deleted. */
    keep: number;
    /** Whether a start that must migrate an existing database makes a backup first. */
    beforeMigration: boolean;
  };
  /** Optional API operations that are switched on. */
  switchedOn: ReadonlySet<OperationSwitch>;
  /** Folder of the built web app; if the folder is missing, no pages are served. */
  webDir: string;
}

/** The environment is invalid; `problems` has one line for each variable. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(['The configuration was refused:', ...problems.map((problem) => `  ${problem}`)].join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** One line of --print-config. */
export interface ConfigLine {
  name: VariableName;
  /** Effective value, masked for secrets; null: the variable is unset and has no default. */
  value: string | null;
  source: 'environment' | 'file' | 'default' | 'unset';
}

export interface LoadedConfig {
  config: Config;
  lines: readonly ConfigLine[];
  /** Valid values that are probably a mistake. */
  warnings: readonly string[];
}

/**
 * Reads the configuration, each variable from the environment, or from the file whose path is in the variable of the
 * same name with `_FILE`. An empty variable counts as unset, unless an empty value has a meaning.
 * @throws ConfigError with all invalid variables
 */
export function loadConfig(environment: Environment): Config {
  return readConfig(environment).config;
}

/** Also returns the lines of --print-config and the warnings of the boot log. @throws ConfigError */
export function readConfig(environment: Environment): LoadedConfig {
  const problems: string[] = [];
  const lines: ConfigLine[] = [];
  const values: Values = {};
  for (const name of Object.keys(VARIABLES) as VariableName[]) {
    const given = lookUpVariable(environment, name, EMPTY_COUNTS.has(name));
    if ('problem' in given) {
      problems.push(`${given.problem.variable}: expected ${given.problem.expected}`);
      continue;
    }
    const { text, source } = given;
    const parsed = text === null ? null : VARIABLES[name].safeParse(text);
    // A trimmed text without characters counts as unset, like an empty one.
    if (text === null || parsed === null || parsed.data === '') {
      lines.push({ name, value: null, source: 'unset' });
      continue;
    }
    lines.push({ name, value: shown(name, text), source });
    if (parsed.success) Object.assign(values, { [name]: parsed.data });
    else
      problems.push(
        `${name}: expected ${parsed.error.issues[0]?.message ?? 'another value'}${quoted(name, text)}`,
      );
  }
  const complete = withDefaults(values);
  // A refused value is not in `values`, so it would also be reported as missing.
  const refused = new Set(problems.map(variableOf));
  const conflicts = contradictions(values, telemetryOf(complete));
  problems.push(...conflicts.filter((problem) => !refused.has(variableOf(problem))));
  if (problems.length > 0) throw new ConfigError(problems);
  const warnings = [
    ...wideBlocks(values.SERVICE_TRUSTED_PROXIES ?? []).map(
      (block) => `SERVICE_TRUSTED_PROXIES: ${block} is wider than /8`,
    ),
    ...(values.SERVICE_TELEMETRY_RETAIN_INTERVAL?.everyMs === undefined &&
    values.SERVICE_TELEMETRY_RETAIN_INTERVAL !== undefined
      ? ['SERVICE_TELEMETRY_RETAIN_INTERVAL is ignored: expected a duration such as 5m, or 0 for never']
      : []),
  ];
  const shownLines = lines.map((line): ConfigLine => {
    const value = line.source === 'unset' ? defaultOf(line.name, values) : null;
    return value === null ? line : { ...line, value, source: 'default' };
  });
  return { config: assemble(complete, values), lines: shownLines, warnings };
}

/** The variable at the start of a problem's line. */
const variableOf = (problem: string): string => problem.slice(0, problem.indexOf(':'));

/** Maximum quoted characters of a wrong value, so that the log line stays readable. */
const QUOTED_CHARACTERS = 100;

/**
 * Quotes the refused value. Variables that may contain secrets are not quoted, nor SERVICE_ALLOWED_ORIGINS, whose
 * message already has the position.
 */
function quoted(name: VariableName, text: string): string {
  if (SECRET_VARIABLES.has(name) || name === 'SERVICE_ALLOWED_ORIGINS') return '';
  const safe = withoutCredentials(text);
  const cut = safe.length > QUOTED_CHARACTERS ? `${safe.slice(0, QUOTED_CHARACTERS)}…` : safe;
  return `; it is ${JSON.stringify(cut)}`;
}

function shown(name: VariableName, text: string): string {
  const safe = withoutCredentials(text);
  if (!SECRET_VARIABLES.has(name)) return safe;
  // The database's address may be shown, but its parameters may contain a password.
  return name === 'DATABASE_URL' ? safe.replace(/\?.*$/s, '?***') : '***';
}

/**
 * Removes the credentials of an address: everything before its `@`. In a list everything before the last `@` is
 * removed, because a password may contain any character, also `@`, `,` and `/`.
 */
const withoutCredentials = (text: string): string =>
  text.includes('//') ? text.replace(/\/\/.*@/s, '//***@') : text.replace(/^.*:.*@/s, '***@');

function oidcOf(values: CompleteValues): OidcConfig | null {
  const {
    SERVICE_OIDC_ISSUER: issuer,
    SERVICE_OIDC_CLIENT_ID: clientId,
    SERVICE_OIDC_CLIENT_SECRET: clientSecret,
    PUBLIC_BASE_URL: base,
  } = values;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined || base === undefined)
    return null;
  return {
    issuer,
    clientId,
    clientSecret,
    name: values.SERVICE_OIDC_NAME,
    scopes: values.SERVICE_OIDC_SCOPES,
    registration: values.SERVICE_OIDC_REGISTRATION,
    adminGroup: values.SERVICE_OIDC_ADMIN_GROUP ?? null,
    groupsClaim: values.SERVICE_OIDC_GROUPS_CLAIM,
    redirectUri: `${base.href.replace(/\/+$/, '')}/login/callback`,
  };
}

function telemetryOf(values: CompleteValues): Config['telemetry'] {
  return {
    rollingMs: values.SERVICE_TELEMETRY_ROLLING_WINDOW,
    postmortemMs: values.SERVICE_TELEMETRY_POSTMORTEM_RETENTION,
    retainInterval: lockOf('SERVICE_TELEMETRY_RETAIN_INTERVAL', values),
  };
}

function turnOf({
  SERVICE_TURN_URLS: urls,
  SERVICE_TURN_SECRET: secret,
}: Values): Config['sessions']['turn'] {
  return urls === undefined || secret === undefined ? null : { urls, secret };
}

function webhookOf({ SERVICE_WEBHOOK_URL: url, SERVICE_WEBHOOK_SECRET: key }: Values): Config['webhook'] {
  return url === undefined || key === undefined ? null : { url, key };
}

function busOf(values: Values): Config['bus'] {
  const { SERVICE_BUS_URL: bus, SERVICE_BUS_NKEY_FILE: nkeyFile, SERVICE_BUS_CA_FILE: caFile } = values;
  if (bus === undefined) return null;
  return {
    servers: bus.servers,
    auth: nkeyFile === undefined ? bus.auth : { nkeyFile },
    tls: bus.tls ? { ca: caFile ?? null } : null,
  };
}

/**
 * Rules of OpenTelemetry: the path for traces is appended to a general address; an address for traces is used
 * unchanged.
 */
function tracesOf(values: CompleteValues): Config['traces'] {
  const general = values.OTEL_EXPORTER_OTLP_ENDPOINT;
  const url =
    values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ??
    (general && new URL('v1/traces', general.href.endsWith('/') ? general : `${general.href}/`));
  if (!url || values.OTEL_SDK_DISABLED === 'true' || values.OTEL_TRACES_EXPORTER === 'none') return null;
  return {
    url,
    headers: values.OTEL_EXPORTER_OTLP_HEADERS ?? {},
    serviceName: values.OTEL_SERVICE_NAME,
  };
}

/** null: the variable is unset, or its value was ignored. */
function lockOf(
  variable: 'SERVICE_ARTWORK_SWEEP_INTERVAL' | 'SERVICE_TELEMETRY_RETAIN_INTERVAL',
  values: Values,
): IntervalLock | null {
  const everyMs = values[variable]?.everyMs;
  return everyMs === undefined ? null : { variable, everyMs };
}

/** @param given the variables that are set */
function assemble(values: CompleteValues, given: Values): Config {
  const certFile = values.SERVICE_TLS_CERT;
  const keyFile = values.SERVICE_TLS_KEY;
  const email = values.BOOTSTRAP_ADMIN_EMAIL;
  const username = values.BOOTSTRAP_ADMIN_USERNAME;
  const password = values.BOOTSTRAP_ADMIN_PASSWORD;
  const secretKey = values.SERVICE_SECRET_KEY;
  return {
    dataDir: values.SERVICE_DATA_DIR,
    database: values.DATABASE_URL,
    bus: busOf(values),
    logLevel: values.SERVICE_LOG_LEVEL,
    http: {
      listen: values.LISTEN_ADDR,
      redirect: values.SERVICE_HTTP_REDIRECT === 'auto',
      redirectPort: values.SERVICE_TLS_REDIRECT_PORT,
      publicBaseUrl: values.PUBLIC_BASE_URL ?? null,
      trustedProxies: values.SERVICE_TRUSTED_PROXIES ?? [],
      connectionsPerAddress: values.SERVICE_CONNECTIONS_PER_ADDRESS,
    },
    drainMs: values.SERVICE_DRAIN_SECS * SECOND_MS,
    metrics: values.SERVICE_METRICS_ADDR
      ? { listen: values.SERVICE_METRICS_ADDR, token: values.SERVICE_METRICS_TOKEN ?? null }
      : null,
    traces: tracesOf(values),
    webhook: webhookOf(values),
    tls:
      values.SERVICE_TLS === 'off'
        ? null
        : {
            listen: values.SERVICE_TLS_ADDR,
            dir: values.SERVICE_TLS_DIR,
            provided: certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : null,
            extraNames: [
              ...(values.SERVICE_TLS_HOSTS ?? []),
              ...(values.SERVICE_PUBLIC_HOST ?? []),
              ...(values.SERVICE_ACME_HOSTS ?? []),
            ],
            acme: values.SERVICE_ACME_HOSTS
              ? {
                  hosts: values.SERVICE_ACME_HOSTS,
                  email: values.SERVICE_ACME_EMAIL ?? null,
                  directory: values.SERVICE_ACME_URL,
                  caFile: values.SERVICE_ACME_CA_FILE ?? null,
                }
              : null,
          },
    accounts: {
      tokenTtlMs: values.AUTH_TOKEN_TTL,
      minClientVersion: values.SERVICE_MIN_CLIENT_VERSION ?? null,
      latestClientVersion: values.SERVICE_LATEST_CLIENT_VERSION ?? null,
      setupTokenFile: values.SERVICE_SETUP_TOKEN_PATH,
      devAgentKeyFile: values.SERVICE_DEV_AGENT_KEY_PATH,
      bootstrap:
        email !== undefined && username !== undefined && password !== undefined
          ? { email, username, password }
          : null,
      registrationMode: values.REGISTRATION_MODE,
      oidc: oidcOf(values),
    },
    settings: {
      allowedOrigins: values.SERVICE_ALLOWED_ORIGINS ?? null,
      storageProvider: values.SERVICE_STORAGE_PROVIDER,
    },
    secrets: {
      keys:
        secretKey === undefined
          ? null
          : { current: secretKey, previous: values.SERVICE_SECRET_KEY_PREVIOUS ?? [] },
      environment: { SERVICE_STEAMGRIDDB_API_KEY: values.SERVICE_STEAMGRIDDB_API_KEY ?? null },
    },
    catalog: { seedFile: values.SERVICE_SEED_FILE ?? null },
    artwork: {
      dir: values.SERVICE_ARTWORK_DIR,
      provider: values.SERVICE_ARTWORK_PROVIDER,
      maxBytes: values.SERVICE_ARTWORK_MAX_BYTES,
      sweepInterval: lockOf('SERVICE_ARTWORK_SWEEP_INTERVAL', values),
    },
    images: {
      repo: values.SERVICE_IMAGE_CATALOG_REPO ?? null,
      path: values.SERVICE_IMAGE_CATALOG_PATH,
      base: {
        url: values.SERVICE_IMAGE_CATALOG_BASE_URL,
        isNamed: given.SERVICE_IMAGE_CATALOG_BASE_URL !== undefined,
      },
      registryHosts: values.SERVICE_IMAGE_REGISTRY_HOSTS.map((registry) => ({
        ...registry,
        isNamed: given.SERVICE_IMAGE_REGISTRY_HOSTS !== undefined,
      })),
    },
    discovery: {
      scanInterval: values.SERVICE_LIBRARY_SCAN_INTERVAL ?? null,
      storeLookup:
        values.SERVICE_STEAM_APPDETAILS_LOOKUP === undefined
          ? null
          : ['1', 'true'].includes(values.SERVICE_STEAM_APPDETAILS_LOOKUP),
      providers: values.SERVICE_LIBRARY_PROVIDERS,
    },
    fleet: { enrollmentToken: values.SERVICE_ENROLLMENT_TOKEN ?? null },
    sessions: {
      placementPolicy: values.SERVICE_PLACEMENT_POLICY === 'locality' ? 'locality' : 'spread',
      vramMinFreeMb: values.SERVICE_VRAM_MIN_FREE_MB,
      vramInflightEstimateMb: values.SERVICE_VRAM_INFLIGHT_ESTIMATE_MB,
      vramStalenessSecs: values.SERVICE_VRAM_STALENESS_SECS,
      graceSecs: values.SERVICE_SESSION_GRACE_SECS,
      iceServers: values.SERVICE_ICE_SERVERS,
      turn: turnOf(values),
    },
    certification: { benchApp: values.SERVICE_BENCH_APP },
    telemetry: telemetryOf(values),
    jobs: {
      isOn: values.SERVICE_JOBS !== '0' && values.SERVICE_JOBS !== 'false',
      tickMs: values.SERVICE_JOBS_TICK_SECS * SECOND_MS,
      timezone: values.SERVICE_JOBS_TIMEZONE,
      historyLimit: values.SERVICE_JOBS_RUN_RETENTION,
      retentionMs: values.SERVICE_JOBS_RUN_RETENTION_DAYS * DAY_MS || null,
      claimTimeoutMs: values.SERVICE_JOBS_CLAIM_TIMEOUT_SECS * SECOND_MS,
    },
    backups: {
      dir: values.SERVICE_BACKUP_DIR,
      keep: values.SERVICE_BACKUP_KEEP,
      beforeMigration: !['0', 'false'].includes(values.SERVICE_BACKUP_BEFORE_MIGRATION),
    },
    switchedOn: new Set<OperationSwitch>([
      ...(isDevAgentAuthOn(values) ? (['SERVICE_DEV_AGENT_AUTH'] as const) : []),
      ...(values.SERVICE_OIDC_ISSUER === undefined ? [] : (['SERVICE_OIDC_ISSUER'] as const)),
    ]),
    webDir: values.SERVICE_WEB_DIR,
  };
}
