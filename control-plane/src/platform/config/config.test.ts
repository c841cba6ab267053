import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type Config, ConfigError, loadConfig, readConfig } from './config.ts';
import { SECRET_VARIABLES, VARIABLES, type VariableName } from './variables.ts';

const folder = mkdtempSync(join(tmpdir(), 'footlight-config-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    loadConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

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

  test('half of a pair is refused: certificate and key, the three of the bootstrap', () => {
    expect(problemsOf({ SERVICE_TLS_CERT: '/a.pem' })).toEqual([expect.stringMatching(/^SERVICE_TLS_KEY: /)]);
    expect(problemsOf({ BOOTSTRAP_ADMIN_EMAIL: 'a@b.example' })).toEqual([
      expect.stringMatching(/^BOOTSTRAP_ADMIN_USERNAME: /),
      expect.stringMatching(/^BOOTSTRAP_ADMIN_PASSWORD: /),
    ]);
  });

  const OIDC = {
    SERVICE_OIDC_ISSUER: 'https://id.example.org/realms/home',
    SERVICE_OIDC_CLIENT_ID: 'footlight',
    SERVICE_OIDC_CLIENT_SECRET: 'secret',
    PUBLIC_BASE_URL: 'https://footlight.example.org:8443/',
  };

  test('sign-in with a provider is off until its issuer, its client and the public address are set', () => {
    expect(loadConfig({}).accounts.oidc).toBeNull();
    expect(loadConfig({}).switchedOn.size).toBe(0);
    const { accounts, switchedOn } = loadConfig(OIDC);
    expect(switchedOn).toContain('SERVICE_OIDC_ISSUER');
    expect(accounts.oidc).toEqual({
      issuer: new URL(OIDC.SERVICE_OIDC_ISSUER),
      clientId: 'footlight',
      clientSecret: 'secret',
      name: 'single sign-on',
      scopes: 'openid email profile',
      registration: 'setting',
      adminGroup: null,
      groupsClaim: 'groups',
      redirectUri: 'https://footlight.example.org:8443/login/callback',
    });
    for (const name of Object.keys(OIDC)) {
      const half = Object.fromEntries(Object.entries(OIDC).filter(([given]) => given !== name));
      expect(problemsOf(half)).toEqual([expect.stringMatching(new RegExp(`^${name}: expected a value`))]);
    }
    expect(problemsOf({ SERVICE_OIDC_ADMIN_GROUP: 'masters' })).toHaveLength(4);
    expect(problemsOf({ PUBLIC_BASE_URL: OIDC.PUBLIC_BASE_URL })).toEqual([]);
  });

  test.each([
    ['SERVICE_OIDC_ISSUER', 'http://id.example.org'],
    ['SERVICE_OIDC_ISSUER', 'https://id.example.org/?realm=home'],
    ['SERVICE_OIDC_ISSUER', 'https://user:secret@id.example.org'],
    ['SERVICE_OIDC_ISSUER', 'id.example.org'],
    ['SERVICE_OIDC_SCOPES', 'email profile'],
    ['SERVICE_OIDC_SCOPES', 'openid "email"'],
    ['SERVICE_OIDC_NAME', 'x'.repeat(41)],
    ['SERVICE_OIDC_NAME', 'line\nbreak'],
    ['SERVICE_OIDC_REGISTRATION', 'open'],
  ])('%s=%j is refused', (name, value) => {
    expect(problemsOf({ ...OIDC, [name]: value })).toEqual([expect.stringMatching(new RegExp(`^${name}: `))]);
  });

  test('a provider on this machine needs no TLS', () => {
    expect(problemsOf({ ...OIDC, SERVICE_OIDC_ISSUER: 'http://127.0.0.1:9000/' })).toEqual([]);
  });

  test('only the exact text 1 switches the sign-in of developers on, and never in production', () => {
    expect(loadConfig({ SERVICE_DEV_AGENT_AUTH: '1' }).switchedOn).toContain('SERVICE_DEV_AGENT_AUTH');
    for (const value of ['', '0', 'true', ' 1', '01'])
      expect(loadConfig({ SERVICE_DEV_AGENT_AUTH: value }).switchedOn.size).toBe(0);
    for (const SERVICE_ENV of ['production', 'Production', 'PRODUCTION'])
      expect(problemsOf({ SERVICE_DEV_AGENT_AUTH: '1', SERVICE_ENV })).toEqual([
        expect.stringMatching(/^SERVICE_DEV_AGENT_AUTH: expected unset/),
      ]);
    expect(problemsOf({ SERVICE_ENV: 'production' })).toEqual([]);
    expect(problemsOf({ SERVICE_DEV_AGENT_AUTH: '1', SERVICE_ENV: 'staging' })).toEqual([]);
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

  describe('of certificates over ACME', () => {
    const HOSTS = { SERVICE_ACME_HOSTS: 'Footlight.example.org, play.example.org' };

    test('has the names, and the authority of Let’s Encrypt by default', () => {
      expect(loadConfig({}).tls?.acme).toBeNull();
      expect(loadConfig(HOSTS).tls?.acme).toEqual({
        hosts: ['footlight.example.org', 'play.example.org'],
        email: null,
        directory: new URL('https://acme-v02.api.letsencrypt.org/directory'),
        caFile: null,
      });
    });

    test.each(['localhost', '192.0.2.1', '*.example.org', 'a..example', '-a.example', 'a.example:443', ','])(
      'refuses %s, for which no authority can issue a certificate by requests to port 80',
      (hosts) => {
        expect(problemsOf({ SERVICE_ACME_HOSTS: hosts })).toEqual([
          expect.stringMatching(/^SERVICE_ACME_HOSTS: expected a comma list of at most 10 public names/),
        ]);
      },
    );

    test.each([
      ['SERVICE_TLS', 'off', 'SERVICE_TLS is off'],
      ['SERVICE_BUS_URL', 'nats://127.0.0.1:4222', 'with several control planes'],
    ])('is refused with %s=%s', (name, value, reason) => {
      const env = { ...HOSTS, DATABASE_URL: 'postgres://u:p@localhost/f', [name]: value };
      expect(problemsOf(env)).toEqual([
        expect.stringContaining(`SERVICE_ACME_HOSTS: expected unset, because ${reason}`),
      ]);
    });

    test('names variables that need it', () => {
      expect(problemsOf({ SERVICE_ACME_EMAIL: 'ada@example.org' })).toEqual([
        'SERVICE_ACME_EMAIL: expected together with SERVICE_ACME_HOSTS',
      ]);
    });
  });

  describe('of TURN servers', () => {
    const SECRET = 'sixteen-chars-00';
    const turn = (urls: string) =>
      loadConfig({ SERVICE_TURN_URLS: urls, SERVICE_TURN_SECRET: SECRET }).sessions.turn;

    test('has their addresses and the shared secret', () => {
      expect(
        turn('turn:a.example, turn:192.0.2.1:3478?transport=udp,turns:[2001:db8::1]:443?transport=tcp'),
      ).toEqual({
        urls: [
          'turn:a.example',
          'turn:192.0.2.1:3478?transport=udp',
          'turns:[2001:db8::1]:443?transport=tcp',
        ],
        secret: SECRET,
      });
    });

    test.each([
      'stun:a.example',
      'turn://a.example',
      'turn:user@a.example',
      'turn:a.example:0',
      'turn:a.example:65536',
      'turn:a.example?transport=tls',
      'turn:a.example/path',
      Array(9).fill('turn:a.example').join(','),
      ',',
    ])('refuses %s', (urls) => {
      expect(problemsOf({ SERVICE_TURN_URLS: urls, SERVICE_TURN_SECRET: SECRET })).toEqual([
        expect.stringMatching(/^SERVICE_TURN_URLS: expected at most 8 addresses such as /),
      ]);
    });

    test('names the missing one of address and secret, and never shows a secret', () => {
      expect(problemsOf({ SERVICE_TURN_URLS: 'turn:a.example' })).toEqual([
        'SERVICE_TURN_SECRET: expected a value, because SERVICE_TURN_URLS is set',
      ]);
      expect(problemsOf({ SERVICE_TURN_SECRET: SECRET })).toEqual([
        'SERVICE_TURN_URLS: expected a value, because SERVICE_TURN_SECRET is set',
      ]);
      for (const bad of ['hunter2', 'with a space in it', 'x'.repeat(257)])
        expect(problemsOf({ SERVICE_TURN_URLS: 'turn:a.example', SERVICE_TURN_SECRET: bad })).toContain(
          'SERVICE_TURN_SECRET: expected 16 to 256 printable characters without spaces',
        );
    });

    test('needs a grace in which a viewer can connect', () => {
      const env = { SERVICE_TURN_URLS: 'turn:a.example', SERVICE_TURN_SECRET: SECRET };
      expect(problemsOf({ ...env, SERVICE_SESSION_GRACE_SECS: '60' })).toEqual([]);
      expect(problemsOf({ ...env, SERVICE_SESSION_GRACE_SECS: '59' })).toEqual([
        expect.stringMatching(/^SERVICE_SESSION_GRACE_SECS: expected at least 60/),
      ]);
      expect(problemsOf({ SERVICE_SESSION_GRACE_SECS: '1' })).toEqual([]);
    });
  });

  test('a proxy block wider than /8 is legal and warned about', () => {
    expect(readConfig({ SERVICE_TRUSTED_PROXIES: '10.0.0.0/7' }).warnings).toHaveLength(1);
    expect(readConfig({ SERVICE_TRUSTED_PROXIES: '10.0.0.0/8' }).warnings).toHaveLength(0);
  });

  describe('of the metrics page', () => {
    const TOKEN = 'a-token-of-16-or-more';
    const metrics = (env: Record<string, string>) => loadConfig(env).metrics;

    test('is that there is none', () => {
      expect(metrics({})).toBeNull();
    });

    test('is free to read on loopback', () => {
      for (const [address, host] of [
        ['127.0.0.1:9100', '127.0.0.1'],
        ['[::1]:9100', '::1'],
        ['localhost:9100', 'localhost'],
      ] as const)
        expect(metrics({ SERVICE_METRICS_ADDR: address })).toEqual({
          listen: { host, port: 9100 },
          token: null,
        });
    });

    test.each([':9100', '0.0.0.0:9100', '[::]:9100', '192.0.2.4:9100', 'metrics.example:9100'])(
      'asks for a token on %s',
      (address) => {
        expect(() => metrics({ SERVICE_METRICS_ADDR: address })).toThrow(
          /SERVICE_METRICS_ADDR: expected a loopback address .* or SERVICE_METRICS_TOKEN beside it/,
        );
        expect(metrics({ SERVICE_METRICS_ADDR: address, SERVICE_METRICS_TOKEN: TOKEN })?.token).toBe(TOKEN);
      },
    );

    test('refuses a token that is short, and one without a page, and shows neither', () => {
      const short = () =>
        metrics({ SERVICE_METRICS_ADDR: '127.0.0.1:9100', SERVICE_METRICS_TOKEN: 'hunter2' });
      expect(short).toThrow('SERVICE_METRICS_TOKEN: expected 16 to 256 printable characters without spaces');
      expect(short).not.toThrow(/hunter2/);
      expect(() => metrics({ SERVICE_METRICS_TOKEN: TOKEN })).toThrow(/together with SERVICE_METRICS_ADDR/);
    });
  });

  describe('of the bus of several replicas', () => {
    const POSTGRES = { DATABASE_URL: 'postgres://db.example/footlight' };
    const bus = (env: Record<string, string>) => loadConfig({ ...POSTGRES, ...env }).bus;

    test('is none by itself', () => expect(bus({})).toBeNull());

    test('has servers, credentials, and TLS off the machine', () => {
      expect(bus({ SERVICE_BUS_URL: 'nats://127.0.0.1' })).toEqual({
        servers: ['127.0.0.1:4222'],
        auth: null,
        tls: null,
      });
      const two = { SERVICE_BUS_URL: 'tls://s%40cret@a.example:1, tls://s%40cret@b.example' };
      expect(bus({ ...two, SERVICE_BUS_CA_FILE: '/etc/ca.pem' })).toEqual({
        servers: ['a.example:1', 'b.example:4222'],
        auth: { token: 's@cret' },
        tls: { ca: '/etc/ca.pem' },
      });
      expect(bus({ SERVICE_BUS_URL: 'tls://[2001:db8::1]', SERVICE_BUS_NKEY_FILE: '/etc/seed' })).toEqual({
        servers: ['[2001:db8::1]:4222'],
        auth: { nkeyFile: '/etc/seed' },
        tls: { ca: null },
      });
      expect(bus({ SERVICE_BUS_URL: 'nats://ada:pass@[::1]:5' })?.auth).toEqual({
        user: 'ada',
        pass: 'pass',
      });
    });

    test('has one set of credentials for all servers', () => {
      const env = { ...POSTGRES, SERVICE_BUS_URL: 'tls://a.example,tls://token@b.example' };
      expect(problemsOf(env)).toEqual([expect.stringMatching(/^SERVICE_BUS_URL: expected /)]);
    });

    test.each([
      ['SQLite', { SERVICE_BUS_URL: 'nats://localhost' }, /belongs to one control plane/],
      [
        'a key beside a token',
        { ...POSTGRES, SERVICE_BUS_URL: 'nats://t@[::1]', SERVICE_BUS_NKEY_FILE: '/k' },
        /NKEY_FILE/,
      ],
      [
        'a certificate without TLS',
        { ...POSTGRES, SERVICE_BUS_URL: 'nats://[::1]', SERVICE_BUS_CA_FILE: '/c' },
        /CA_FILE/,
      ],
      ['a key without a bus', { ...POSTGRES, SERVICE_BUS_NKEY_FILE: '/k' }, /together with SERVICE_BUS_URL/],
    ])('%s is refused with the reason', (_what, env, why) => {
      expect(problemsOf(env)).toEqual([expect.stringMatching(why)]);
    });
  });

  describe('of the collector of traces', () => {
    const traces = (env: Record<string, string>) => loadConfig(env).traces;
    const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example/otlp' };

    test('is none until an address is named', () => {
      expect(traces({})).toBeNull();
      expect(traces({ OTEL_SERVICE_NAME: 'stage' })).toBeNull();
    });

    test('adds the path to a general address, and keeps one for traces', () => {
      expect(traces(ENDPOINT)?.url.href).toBe('https://collector.example/otlp/v1/traces');
      const own = { ...ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:9/own' };
      expect(traces(own)?.url.href).toBe('http://127.0.0.1:9/own');
    });

    test.each([{ OTEL_SDK_DISABLED: 'true' }, { OTEL_TRACES_EXPORTER: 'none' }])('is off with %j', (env) => {
      expect(traces({ ...ENDPOINT, ...env })).toBeNull();
    });

    test('has headers with encoded values, and shows them nowhere', () => {
      const headers = 'authorization=Bearer%20hunter2, x-scope = a=b';
      expect(traces({ ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: headers })).toEqual({
        url: new URL('https://collector.example/otlp/v1/traces'),
        headers: { authorization: 'Bearer hunter2', 'x-scope': 'a=b' },
        serviceName: 'footlight',
      });
      expect(
        JSON.stringify(readConfig({ ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: headers }).lines),
      ).not.toMatch(/hunter2/);
      for (const wrong of ['hunter2', 'a b=hunter2', 'x=hunter2%', 'x=hunter2%0d%0aa: b']) {
        expect(problemsOf({ ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: wrong })).toEqual([
          'OTEL_EXPORTER_OTLP_HEADERS: expected name=value pairs, separated by commas',
        ]);
      }
    });
  });

  describe('of the image catalog', () => {
    const images = (env: Record<string, string>) => loadConfig(env).images;

    test('is GitHub for files and ghcr.io for images, both of them public servers', () => {
      expect(images({})).toEqual({
        repo: null,
        path: 'image-manifest.json',
        base: { url: 'https://raw.githubusercontent.com', isNamed: false },
        registryHosts: [{ scheme: 'https', host: 'ghcr.io', isNamed: false }],
      });
    });

    test('takes what the operator names, http for this machine only', () => {
      const SERVICE_IMAGE_REGISTRY_HOSTS =
        'ghcr.io, GHCR.example:443,http://127.0.0.1:5000,http://[::1]:5000';
      expect(
        images({ SERVICE_IMAGE_CATALOG_BASE_URL: 'http://localhost:80/raw/', SERVICE_IMAGE_REGISTRY_HOSTS }),
      ).toMatchObject({
        base: { url: 'http://localhost/raw', isNamed: true },
        registryHosts: [
          { scheme: 'https', host: 'ghcr.io', isNamed: true },
          { scheme: 'https', host: 'ghcr.example', isNamed: true },
          { scheme: 'http', host: '127.0.0.1:5000', isNamed: true },
          { scheme: 'http', host: '[::1]:5000', isNamed: true },
        ],
      });
    });

    test.each([
      ['SERVICE_IMAGE_REGISTRY_HOSTS', 'http://registry.example'],
      ['SERVICE_IMAGE_REGISTRY_HOSTS', 'http://10.0.0.1:5000'],
      ['SERVICE_IMAGE_REGISTRY_HOSTS', 'ghcr.io/example'],
      ['SERVICE_IMAGE_REGISTRY_HOSTS', 'user:password@ghcr.io'],
      ['SERVICE_IMAGE_REGISTRY_HOSTS', 'ghcr.io,ftp://x'],
      ['SERVICE_IMAGE_CATALOG_BASE_URL', 'http://files.example'],
      ['SERVICE_IMAGE_CATALOG_BASE_URL', 'files.example'],
      ['SERVICE_IMAGE_CATALOG_BASE_URL', 'https://files.example/?token=x'],
    ])('%s=%s stops the start', (name, value) => {
      expect(() => loadConfig({ [name]: value })).toThrow(name);
    });
  });

  describe('the webhook', () => {
    const SECRET = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
    const URL_OF_IT = 'https://hooks.example/in?token=1';
    const both = (url: string, secret = SECRET) =>
      problemsOf({ SERVICE_WEBHOOK_URL: url, SERVICE_WEBHOOK_SECRET: secret });

    test('needs an address and a secret', () => {
      expect(loadConfig({}).webhook).toBeNull();
      const { webhook } = loadConfig({ SERVICE_WEBHOOK_URL: URL_OF_IT, SERVICE_WEBHOOK_SECRET: SECRET });
      expect(webhook?.url.href).toBe(URL_OF_IT);
      expect(webhook?.key.export()).toEqual(Buffer.alloc(24, 1));
      expect(problemsOf({ SERVICE_WEBHOOK_URL: URL_OF_IT })).toEqual([
        expect.stringMatching(/^SERVICE_WEBHOOK_SECRET: .* both or neither/),
      ]);
      expect(problemsOf({ SERVICE_WEBHOOK_SECRET: SECRET })).toEqual([
        expect.stringMatching(/^SERVICE_WEBHOOK_URL: .* both or neither/),
      ]);
    });

    test.each([
      ['https://10.0.0.7/hook', true],
      ['http://127.0.0.1:9000/hook', true],
      ['http://10.0.0.7/hook', false],
      ['http://hooks.example/', false],
      ['https://user:pass@hooks.example/', false],
      ['https://hooks.example/#part', false],
      ['ftp://hooks.example/', false],
    ])('may be at %s: %s', (url, isAllowed) => {
      const problems = both(url);
      expect(problems).toEqual(isAllowed ? [] : [expect.stringMatching(/^SERVICE_WEBHOOK_URL: expected/)]);
      expect(problems.join()).not.toContain('example');
    });

    test.each([
      ['too short', `whsec_${Buffer.alloc(23).toString('base64')}`],
      ['too long', `whsec_${Buffer.alloc(65).toString('base64')}`],
      ['no prefix', Buffer.alloc(32).toString('base64')],
      ['no base64', 'whsec_%%%%'],
    ])('refuses a secret: %s', (_, secret) => {
      expect(both(URL_OF_IT, secret)).toEqual([expect.stringMatching(/^SERVICE_WEBHOOK_SECRET: expected/)]);
    });
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
