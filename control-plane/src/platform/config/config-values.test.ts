import { describe, expect, test } from 'vitest';
import { loadConfig, readConfig } from './config.ts';
import { parseDuration, parseListenAddress } from './config-values.ts';
import { problemsOf } from './testing/problems.ts';

describe('durations', () => {
  test.each([
    ['24h', 86_400_000],
    ['1h30m', 5_400_000],
    ['90s', 90_000],
    ['1.5s', 1_500],
    ['250ms', 250],
    ['1.4ms', 1],
    ['1us', 1],
    ['0s', 0],
  ])('%s is %i ms', (text, expected) => expect(parseDuration(text)).toBe(expected));

  test.each(['', '24', 'h', '-1h', '1d', '1h 30m', '1h,30m', 'NaNs', '600000h', `${'9'.repeat(400)}h`])(
    '%s is none',
    (text) => expect(parseDuration(text)).toBeNull(),
  );
});

describe('listen addresses', () => {
  test.each([
    [':8080', { host: null, port: 8080 }],
    ['127.0.0.1:0', { host: '127.0.0.1', port: 0 }],
    ['[::1]:8443', { host: '::1', port: 8443 }],
    ['play.example:80', { host: 'play.example', port: 80 }],
  ])('%s', (text, expected) => expect(parseListenAddress(text)).toEqual(expected));

  test.each(['8080', 'a:b', '::1:80', '[::1]', ':70000', 'a b:1'])('%s is none', (text) =>
    expect(parseListenAddress(text)).toBeNull(),
  );
});

describe('the configuration', () => {
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
});
