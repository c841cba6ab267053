import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type Config, loadConfig, readConfig } from './config.ts';
import { problemsOf } from './testing/problems.ts';
import { SECRET_VARIABLES, VARIABLES, type VariableName } from './variables.ts';

const folder = mkdtempSync(join(tmpdir(), 'footlight-config-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The documented variables of the control plane (docs/configuration.md). */
const CONTRACT_VARIABLES = `
  DATABASE_URL SERVICE_DATA_DIR SERVICE_BUS_URL SERVICE_LOG_LEVEL SERVICE_METRICS_ADDR SERVICE_METRICS_TOKEN SERVICE_ENV
  LISTEN_ADDR CONTROL_PORT SERVICE_TLS SERVICE_TLS_PORT SERVICE_TLS_ADDR SERVICE_TLS_DIR SERVICE_TLS_CERT SERVICE_TLS_KEY
  SERVICE_TLS_HOSTS SERVICE_PUBLIC_HOST SERVICE_ACME_HOSTS SERVICE_ACME_EMAIL SERVICE_ACME_URL SERVICE_ACME_CA_FILE
  SERVICE_HTTP_REDIRECT SERVICE_TLS_REDIRECT_PORT SERVICE_ALLOWED_ORIGINS
  SERVICE_TRUSTED_PROXIES PUBLIC_BASE_URL AUTH_TOKEN_TTL REGISTRATION_MODE
  SERVICE_MIN_CLIENT_VERSION SERVICE_LATEST_CLIENT_VERSION SERVICE_SETUP_TOKEN_PATH BOOTSTRAP_ADMIN_EMAIL
  BOOTSTRAP_ADMIN_USERNAME BOOTSTRAP_ADMIN_PASSWORD SERVICE_DEV_AGENT_AUTH SERVICE_DEV_AGENT_KEY_PATH
  SERVICE_OIDC_ISSUER SERVICE_OIDC_CLIENT_ID SERVICE_OIDC_CLIENT_SECRET SERVICE_OIDC_NAME SERVICE_OIDC_SCOPES
  SERVICE_OIDC_REGISTRATION SERVICE_OIDC_ADMIN_GROUP SERVICE_OIDC_GROUPS_CLAIM
  SERVICE_ARTWORK_DIR SERVICE_ARTWORK_PROVIDER SERVICE_ARTWORK_MAX_BYTES SERVICE_ARTWORK_SWEEP_INTERVAL
  SERVICE_STEAMGRIDDB_API_KEY SERVICE_LIBRARY_SCAN_INTERVAL SERVICE_STEAM_APPDETAILS_LOOKUP SERVICE_LIBRARY_PROVIDERS
  SERVICE_SECRET_KEY SERVICE_SECRET_KEY_PREVIOUS SERVICE_IMAGE_CATALOG_REPO SERVICE_IMAGE_CATALOG_PATH
  SERVICE_IMAGE_CATALOG_BASE_URL SERVICE_IMAGE_REGISTRY_HOSTS SERVICE_SEED_FILE SERVICE_JOBS SERVICE_JOBS_TICK_SECS
  SERVICE_JOBS_TIMEZONE SERVICE_JOBS_RUN_RETENTION SERVICE_JOBS_RUN_RETENTION_DAYS SERVICE_JOBS_CLAIM_TIMEOUT_SECS
  SERVICE_STORAGE_PROVIDER SERVICE_PLACEMENT_POLICY SERVICE_VRAM_MIN_FREE_MB SERVICE_VRAM_INFLIGHT_ESTIMATE_MB
  SERVICE_VRAM_STALENESS_SECS SERVICE_SESSION_GRACE_SECS SERVICE_ICE_SERVERS SERVICE_TURN_URLS
  SERVICE_TURN_SECRET SERVICE_TELEMETRY_ROLLING_WINDOW SERVICE_TELEMETRY_POSTMORTEM_RETENTION SERVICE_TELEMETRY_RETAIN_INTERVAL SERVICE_BENCH_APP SERVICE_ENROLLMENT_TOKEN
  SERVICE_WEBHOOK_URL SERVICE_WEBHOOK_SECRET
`
  .trim()
  .split(/\s+/);

describe('configuration from the environment', () => {
  test('needs nothing set', () => {
    const config = loadConfig({});
    expect(config.database).toEqual({ dialect: 'sqlite', file: '/var/lib/service-control/control.db' });
    expect(config.http.listen).toEqual({ host: null, port: 8080 });
    expect(config.http.redirectPort).toBe(8443);
    expect(config.tls).toMatchObject({
      listen: { host: null, port: 8443 },
      dir: '/var/lib/service-control/tls',
      provided: null,
    });
    expect(config.accounts).toMatchObject({
      tokenTtlMs: 86_400_000,
      registrationMode: 'closed',
      bootstrap: null,
    });
    expect(config.accounts.setupTokenFile).toBe('/run/service/setup-token');
    expect(config.settings.allowedOrigins).toBeNull();
    expect(config.artwork).toEqual({
      dir: '/var/lib/service-control/artwork',
      provider: 'steamgriddb',
      maxBytes: 8_388_608,
      sweepInterval: null,
    });
    expect(config.sessions).toEqual({
      placementPolicy: 'spread',
      vramMinFreeMb: 1024,
      vramInflightEstimateMb: 1024,
      vramStalenessSecs: 20,
      graceSecs: 600,
      iceServers: [],
      turn: null,
    });
  });

  test('folders below the data folder move with it unless they are set themselves', () => {
    const moved = loadConfig({ SERVICE_DATA_DIR: '/srv/footlight' });
    expect(moved.database).toEqual({ dialect: 'sqlite', file: '/srv/footlight/control.db' });
    expect(moved.tls?.dir).toBe('/srv/footlight/tls');
    expect(loadConfig({ SERVICE_DATA_DIR: '/srv', SERVICE_TLS_DIR: '/etc/pair' }).tls?.dir).toBe('/etc/pair');
  });

  test('telemetry has the configured retention, and an unreadable sweep interval counts as unset', () => {
    expect(loadConfig({}).telemetry).toEqual({
      rollingMs: 3_600_000,
      postmortemMs: 86_400_000,
      retainInterval: null,
    });
    const interval = (text: string) => readConfig({ SERVICE_TELEMETRY_RETAIN_INTERVAL: text });
    const variable = 'SERVICE_TELEMETRY_RETAIN_INTERVAL';
    expect(interval('0').config.telemetry.retainInterval).toEqual({ variable, everyMs: null });
    expect(interval('30s').config.telemetry.retainInterval).toEqual({ variable, everyMs: 30_000 });
    expect(interval('30s').warnings).toEqual([]);
    expect(interval('often').config.telemetry.retainInterval).toBeNull();
    expect(interval('often').warnings).toEqual([
      'SERVICE_TELEMETRY_RETAIN_INTERVAL is ignored: expected a duration such as 5m, or 0 for never',
    ]);
    expect(problemsOf({ SERVICE_TELEMETRY_ROLLING_WINDOW: '25h' })).toEqual([
      'SERVICE_TELEMETRY_POSTMORTEM_RETENTION: expected at least SERVICE_TELEMETRY_ROLLING_WINDOW',
    ]);
  });

  test('a sweep of pictures at interval 0 never runs', () => {
    for (const text of ['0', '0s'])
      expect(loadConfig({ SERVICE_ARTWORK_SWEEP_INTERVAL: text }).artwork.sweepInterval?.everyMs).toBeNull();
  });

  test('an empty variable counts as unset, save for the origin list, which it empties', () => {
    expect(loadConfig({ CONTROL_PORT: '', SERVICE_SEED_FILE: '' }).catalog.seedFile).toBeNull();
    expect(loadConfig({ SERVICE_ALLOWED_ORIGINS: '' }).settings.allowedOrigins).toEqual([]);
  });

  test('any variable may be given as a file, without its last newline', () => {
    const file = join(folder, 'token');
    writeFileSync(file, 'a secret\n');
    expect(loadConfig({ SERVICE_ENROLLMENT_TOKEN_FILE: file }).fleet.enrollmentToken).toBe('a secret');
    const seed = join(folder, 'seed');
    writeFileSync(seed, '/srv/seed.json');
    expect(loadConfig({ SERVICE_SEED_FILE_FILE: seed }).catalog.seedFile).toBe('/srv/seed.json');
  });

  test('a variable given twice or as a file that cannot be read is refused', () => {
    const file = join(folder, 'port');
    writeFileSync(file, '81');
    expect(problemsOf({ CONTROL_PORT: '80', CONTROL_PORT_FILE: file })).toEqual([
      'CONTROL_PORT: expected either CONTROL_PORT or CONTROL_PORT_FILE, not both',
    ]);
    expect(problemsOf({ CONTROL_PORT_FILE: join(folder, 'missing') })).toEqual([
      'CONTROL_PORT_FILE: expected a readable file (ENOENT)',
    ]);
  });

  test('all bad variables are reported at once, by name and what was expected', () => {
    const problems = problemsOf({ CONTROL_PORT: '0', SERVICE_TLS: 'on', AUTH_TOKEN_TTL: '1 day' });
    expect(problems).toHaveLength(3);
    expect(problems.join('\n')).toMatch(/CONTROL_PORT: expected a port number.*; it is "/);
    expect(problems.join('\n')).toMatch(/SERVICE_TLS: expected one of auto, off/);
    expect(problems.join('\n')).toMatch(/AUTH_TOKEN_TTL: expected a positive duration/);
  });

  test.each([
    ['CONTROL_PORT', '65536'],
    ['SERVICE_TLS_PORT', 'https'],
    ['SERVICE_TLS_REDIRECT_PORT', '-1'],
    ['LISTEN_ADDR', '8080'],
    ['SERVICE_TLS_ADDR', 'host:99999'],
    ['SERVICE_HTTP_REDIRECT', 'on'],
    ['DATABASE_URL', 'mysql://localhost/x'],
    ['DATABASE_URL', 'sqlite:relative.db'],
    ['SERVICE_BUS_URL', 'nats://bus.example:4222'],
    ['SERVICE_BUS_URL', 'http://localhost:4222'],
    ['SERVICE_BUS_URL', 'nats://localhost:0'],
    ['SERVICE_BUS_URL', 'tls://a.example,tls://b.example:70000'],
    ['SERVICE_BUS_URL', 'tls://a.example,nats://localhost'],
    ['SERVICE_BUS_NKEY_FILE', 'seed'],
    ['SERVICE_BUS_CA_FILE', 'ca.pem'],
    ['SERVICE_LOG_LEVEL', 'loud'],
    ['SERVICE_DATA_DIR', 'relative'],
    ['AUTH_TOKEN_TTL', '0s'],
    ['AUTH_TOKEN_TTL', '-1h'],
    ['SERVICE_MIN_CLIENT_VERSION', '1.2'],
    ['SERVICE_LATEST_CLIENT_VERSION', 'v1.2.x'],
    ['REGISTRATION_MODE', 'Open'],
    ['SERVICE_ARTWORK_DIR', 'artwork'],
    ['SERVICE_ARTWORK_PROVIDER', 'other'],
    ['SERVICE_ARTWORK_MAX_BYTES', '0'],
    ['SERVICE_ARTWORK_MAX_BYTES', '8MB'],
    ['SERVICE_ARTWORK_SWEEP_INTERVAL', '15'],
    ['SERVICE_ARTWORK_SWEEP_INTERVAL', '-15m'],
    ['SERVICE_STORAGE_PROVIDER', 'cloud'],
    ['SERVICE_TRUSTED_PROXIES', '10.0.0.0/8, 0.0.0.0/0'],
    ['SERVICE_TRUSTED_PROXIES', 'proxy.example'],
    ['SERVICE_PLACEMENT_POLICY', 'random'],
    ['SERVICE_VRAM_MIN_FREE_MB', '-1'],
    ['SERVICE_SESSION_GRACE_SECS', '1.5'],
    ['SERVICE_ICE_SERVERS', '{}'],
    ['SERVICE_ICE_SERVERS', '[{"urls":"turn:a.example"}]'],
    ['SERVICE_ICE_SERVERS', '[{"urls":"stun:a.example","username":"u","credential":"c"}]'],
    ['SERVICE_ICE_SERVERS', '[{"urls":"http://a.example"}]'],
    ['PUBLIC_BASE_URL', 'play.example'],
    ['SERVICE_JOBS', 'yes'],
    ['SERVICE_JOBS', 'TRUE'],
    ['SERVICE_JOBS_TICK_SECS', '0'],
    ['SERVICE_JOBS_TICK_SECS', '10s'],
    ['SERVICE_JOBS_TICK_SECS', '3601'],
    ['SERVICE_JOBS_TIMEZONE', 'Europe/Atlantis'],
    ['SERVICE_JOBS_RUN_RETENTION', '0'],
    ['SERVICE_JOBS_RUN_RETENTION', '501'],
    ['SERVICE_JOBS_RUN_RETENTION_DAYS', '-1'],
    ['SERVICE_JOBS_RUN_RETENTION_DAYS', '1.5'],
    ['SERVICE_JOBS_CLAIM_TIMEOUT_SECS', '0'],
    ['SERVICE_JOBS_CLAIM_TIMEOUT_SECS', '1h'],
    ['SERVICE_LIBRARY_SCAN_INTERVAL', '-6h'],
    ['SERVICE_LIBRARY_SCAN_INTERVAL', '6'],
    ['SERVICE_LIBRARY_SCAN_INTERVAL', 'daily'],
    ['SERVICE_LIBRARY_SCAN_INTERVAL', '999999999999999h'],
    ['AUTH_TOKEN_TTL', '999999999999999h'],
    ['SERVICE_STEAM_APPDETAILS_LOOKUP', 'on'],
    ['SERVICE_LIBRARY_PROVIDERS', 'steam; gog'],
    ['SERVICE_LIBRARY_PROVIDERS', 'steam,https://gog.example'],
  ])('%s=%s refuses the boot with the name, what was expected, and the value', (name, value) => {
    expect(problemsOf({ [name]: value })).toEqual([expect.stringMatching(new RegExp(`^${name}: expected `))]);
    if (!SECRET_VARIABLES.has(name as VariableName))
      expect(problemsOf({ [name]: value })[0]).toContain(`it is ${JSON.stringify(value)}`);
  });

  test('the jobs: every switch and number, and the intervals that lock a job', () => {
    expect(loadConfig({}).jobs).toEqual({
      ...{ isOn: true, tickMs: 10_000, timezone: 'UTC', historyLimit: 50 },
      ...{ retentionMs: 30 * 86_400_000, claimTimeoutMs: 3_600_000 },
    });
    for (const [value, isOn] of [
      ['1', true],
      ['true', true],
      ['0', false],
      ['false', false],
    ] as const)
      expect(loadConfig({ SERVICE_JOBS: value }).jobs.isOn).toBe(isOn);
    expect(loadConfig({ SERVICE_JOBS_RUN_RETENTION_DAYS: '0' }).jobs.retentionMs).toBeNull();
    expect(loadConfig({}).discovery).toEqual({ scanInterval: null, storeLookup: null, providers: ['steam'] });
    const set = {
      SERVICE_LIBRARY_SCAN_INTERVAL: '0',
      SERVICE_STEAM_APPDETAILS_LOOKUP: 'false',
      SERVICE_LIBRARY_PROVIDERS: ' Steam ,gog,',
    };
    expect(loadConfig(set).discovery).toEqual({
      ...{ scanInterval: { everyMs: null }, storeLookup: false, providers: ['steam', 'gog'] },
    });
    // Durations are whole milliseconds, so shorter ones become 1.
    for (const text of ['1ns', '100us'])
      expect(loadConfig({ SERVICE_LIBRARY_SCAN_INTERVAL: text }).discovery.scanInterval).toEqual({
        everyMs: 1,
      });
  });

  test('a bad origin is named by its position only', () => {
    const problems = problemsOf({ SERVICE_ALLOWED_ORIGINS: 'https://a.example, https://b.example/secret' });
    expect(problems).toEqual([expect.stringContaining('entry 2')]);
    expect(problems[0]).not.toContain('secret');
  });

  test('the redirect port is the first of: its own variable, SERVICE_TLS_PORT, the port of SERVICE_TLS_ADDR, 8443', () => {
    const all = { SERVICE_TLS_REDIRECT_PORT: '1', SERVICE_TLS_PORT: '2', SERVICE_TLS_ADDR: ':3' };
    expect(loadConfig(all).http.redirectPort).toBe(1);
    expect(loadConfig({ ...all, SERVICE_TLS_REDIRECT_PORT: '' }).http.redirectPort).toBe(2);
    expect(loadConfig({ SERVICE_TLS_ADDR: ':3' }).http.redirectPort).toBe(3);
    expect(loadConfig({ ...all }).tls?.listen.port).toBe(3);
  });

  test('a master key of secrets has a version, and former ones can be added', () => {
    const key = (byte: number) => Buffer.alloc(32, byte).toString('base64');
    expect(loadConfig({}).secrets).toEqual({
      keys: null,
      environment: { SERVICE_STEAMGRIDDB_API_KEY: null },
    });
    expect(loadConfig({ SERVICE_SECRET_KEY: key(1) }).secrets.keys).toMatchObject({
      current: { version: 1 },
      previous: [],
    });
    const file = join(folder, 'secret-key');
    writeFileSync(file, `3:${key(3)}\n`);
    const former = `1:${key(1)}, 2:${key(2)}`;
    const rotated = loadConfig({ SERVICE_SECRET_KEY_FILE: file, SERVICE_SECRET_KEY_PREVIOUS: former });
    expect(rotated.secrets.keys).toMatchObject({
      current: { version: 3 },
      previous: [{ version: 1 }, { version: 2 }],
    });
    const apiKey = { SERVICE_STEAMGRIDDB_API_KEY: ' 0123456789abcdef ' };
    expect(loadConfig(apiKey).secrets.environment.SERVICE_STEAMGRIDDB_API_KEY).toBe('0123456789abcdef');
    expect(loadConfig({ SERVICE_STEAMGRIDDB_API_KEY: ' ' }).secrets.environment).toEqual({
      SERVICE_STEAMGRIDDB_API_KEY: null,
    });
  });

  test('an invalid master key refuses the boot and is not quoted', () => {
    const one = Buffer.alloc(32, 1).toString('base64');
    const short = Buffer.alloc(31, 7).toString('base64');
    for (const [name, environment] of [
      ['SERVICE_SECRET_KEY', { SERVICE_SECRET_KEY: short }],
      ['SERVICE_SECRET_KEY', { SERVICE_SECRET_KEY_PREVIOUS: `1:${one}` }],
      ['SERVICE_SECRET_KEY_PREVIOUS', { SERVICE_SECRET_KEY: one, SERVICE_SECRET_KEY_PREVIOUS: one }],
      ['SERVICE_SECRET_KEY_PREVIOUS', { SERVICE_SECRET_KEY: one, SERVICE_SECRET_KEY_PREVIOUS: `2:${short}` }],
      ['SERVICE_SECRET_KEY_PREVIOUS', { SERVICE_SECRET_KEY: one, SERVICE_SECRET_KEY_PREVIOUS: `1:${one}` }],
      [
        'SERVICE_SECRET_KEY_PREVIOUS',
        { SERVICE_SECRET_KEY: one, SERVICE_SECRET_KEY_PREVIOUS: `2:${one},2:${one}` },
      ],
    ] as [string, Record<string, string>][]) {
      const problems = problemsOf(environment);
      expect(problems).toEqual([expect.stringMatching(new RegExp(`^${name}: expected `))]);
      for (const value of [one, short]) expect(problems[0]).not.toContain(value);
    }
  });

  test('ICE servers are answered with a list of addresses', () => {
    const { sessions } = loadConfig({
      SERVICE_ICE_SERVERS:
        '[{"urls":"stun:a.example"},{"urls":["turn:b.example"],"username":"u","credential":"c"}]',
    });
    expect(sessions.iceServers).toEqual([
      { urls: ['stun:a.example'] },
      { urls: ['turn:b.example'], username: 'u', credential: 'c' },
    ]);
  });

  test('a proxy block wider than /8 is legal and warned about', () => {
    expect(readConfig({ SERVICE_TRUSTED_PROXIES: '10.0.0.0/7' }).warnings).toHaveLength(1);
    expect(readConfig({ SERVICE_TRUSTED_PROXIES: '10.0.0.0/8' }).warnings).toHaveLength(0);
  });

  test('every documented variable is read, and no name is declared twice', () => {
    const known = Object.keys(VARIABLES);
    expect(CONTRACT_VARIABLES.filter((name) => !known.includes(name))).toEqual([]);
    expect(new Set(known).size).toBe(known.length);
  });

  test('the printed configuration shows the origin of each value and never a secret', () => {
    const { lines } = readConfig({
      CONTROL_PORT: '81',
      DATABASE_URL: 'postgres://user:hunter2@db.example/footlight?password=hunter2',
      SERVICE_ENROLLMENT_TOKEN: 'hunter2',
      SERVICE_SECRET_KEY: Buffer.alloc(32, 'hunter2').toString('base64'),
      SERVICE_SECRET_KEY_PREVIOUS: `2:${Buffer.alloc(32, 'hunter2').toString('base64')}`,
      SERVICE_STEAMGRIDDB_API_KEY: 'hunter2',
      SERVICE_WEBHOOK_URL: 'https://hooks.example/hunter2',
      SERVICE_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 'hunter2').toString('base64')}`,
      BOOTSTRAP_ADMIN_EMAIL: 'a@b.example',
      BOOTSTRAP_ADMIN_USERNAME: 'a',
      BOOTSTRAP_ADMIN_PASSWORD: 'hunter2',
    });
    expect(JSON.stringify(lines)).not.toContain('hunter2');
    expect(JSON.stringify(lines)).not.toContain(Buffer.alloc(32, 'hunter2').toString('base64'));
    expect(lines.find(({ name }) => name === 'CONTROL_PORT')).toEqual({
      name: 'CONTROL_PORT',
      value: '81',
      source: 'environment',
    });
    expect(lines.find(({ name }) => name === 'SERVICE_TLS_PORT')).toEqual({
      name: 'SERVICE_TLS_PORT',
      value: '8443',
      source: 'default',
    });
    expect(lines.find(({ name }) => name === 'SERVICE_SEED_FILE')).toEqual({
      name: 'SERVICE_SEED_FILE',
      value: null,
      source: 'unset',
    });
    expect(lines.find(({ name }) => name === 'DATABASE_URL')?.value).toContain('db.example');
  });

  /**
   * If a variable is set to its default, only one fact differs: the configuration says that the operator named the
   * server.
   */
  const withoutNamed = (config: Config) => ({
    ...config,
    images: {
      ...config.images,
      base: config.images.base.url,
      registryHosts: config.images.registryHosts.map(({ scheme, host }) => `${scheme}://${host}`),
    },
  });
  const defaults = readConfig({}).lines.filter(({ source }) => source === 'default');

  test.each(defaults)(
    'the printed default of $name, set as a variable, gives the same configuration',
    ({ name, value }) => {
      expect(withoutNamed(loadConfig({ [name]: value ?? '' }))).toEqual(withoutNamed(loadConfig({})));
    },
  );

  test('defaults that the configuration uses are printed, also for a variable that contains only spaces', () => {
    const printed = (env: Record<string, string>, name: VariableName) =>
      readConfig(env).lines.find((line) => line.name === name);
    expect(printed({}, 'SERVICE_BENCH_APP')).toMatchObject({ value: 'Diagnostics', source: 'default' });
    expect(printed({}, 'OTEL_SERVICE_NAME')).toMatchObject({ value: 'footlight', source: 'default' });
    const blank = { SERVICE_BENCH_APP: ' ' };
    expect(printed(blank, 'SERVICE_BENCH_APP')).toMatchObject({ value: 'Diagnostics', source: 'default' });
    expect(loadConfig(blank).certification.benchApp).toBe('Diagnostics');
  });

  test('defaults that follow from other variables are printed as they apply', () => {
    const env = {
      SERVICE_DATA_DIR: '/srv/footlight',
      LISTEN_ADDR: '127.0.0.1:81',
      SERVICE_TLS_PORT: '444',
      SERVICE_VRAM_MIN_FREE_MB: '2048',
    };
    const printed = Object.fromEntries(readConfig(env).lines.map(({ name, value }) => [name, value]));
    expect(printed).toMatchObject({
      DATABASE_URL: 'sqlite:/srv/footlight/control.db',
      SERVICE_ARTWORK_DIR: '/srv/footlight/artwork',
      CONTROL_PORT: '81',
      SERVICE_TLS_ADDR: ':444',
      SERVICE_TLS_REDIRECT_PORT: '444',
      SERVICE_VRAM_INFLIGHT_ESTIMATE_MB: '2048',
    });
  });

  test.each([
    'postgres://user:p@hunter2@db.example/footlight',
    'postgres://user:p/hunter2@db.example/footlight',
    'postgres://user:p?hunter2@db.example/footlight',
    'postgres://user:p#hunter2@db.example/footlight',
  ])('no part of a password that is not escaped is printed: %s', (url) => {
    const line = readConfig({ DATABASE_URL: url }).lines.find(({ name }) => name === 'DATABASE_URL');
    expect(line?.value).toBe('postgres://***@db.example/footlight');
  });

  test.each([
    ['SERVICE_BUS_URL', 'nats://user:p@hunter2@bus.example:4222', 'nats://***@bus.example:4222'],
    ['SERVICE_BUS_URL', 'tls://u:hunter2@a:1,nats://v:hunter2@b:2', 'tls://***@b:2'],
    ['SERVICE_IMAGE_CATALOG_BASE_URL', 'http://u:hunter2@files.example', 'http://***@files.example'],
    ['SERVICE_IMAGE_REGISTRY_HOSTS', 'u:hunter2@ghcr.io', '***@ghcr.io'],
  ])('a refusal of %s quotes no password of an address: %s', (name, value, quoted) => {
    const refusal = problemsOf({ [name]: value }).join('\n');
    expect(refusal).toContain(`; it is ${JSON.stringify(quoted)}`);
    expect(refusal).not.toContain('hunter2');
  });

  test('no password of an address is printed', () => {
    const { lines } = readConfig({ PUBLIC_BASE_URL: 'https://user:hunter2@play.example' });
    expect(lines.find(({ name }) => name === 'PUBLIC_BASE_URL')?.value).toBe('https://***@play.example');
  });
});
