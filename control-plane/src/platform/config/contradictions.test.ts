import { describe, expect, test } from 'vitest';
import { loadConfig } from './config.ts';
import { problemsOf } from './testing/problems.ts';

describe('variables that conflict with each other', () => {
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

  describe('of certificates over ACME', () => {
    const HOSTS = { SERVICE_ACME_HOSTS: 'Footlight.example.org, play.example.org' };

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

  describe('of the bus of several replicas', () => {
    const POSTGRES = { DATABASE_URL: 'postgres://db.example/footlight' };

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
});
