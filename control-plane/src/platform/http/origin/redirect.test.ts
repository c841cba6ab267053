import { describe, expect, test } from 'vitest';
import { decidePlainRequest } from './redirect.ts';

const ask = (url: string, headers: Record<string, string> = {}, isUpgrade = false, port = 8443) =>
  decidePlainRequest({ url, headers: { host: 'play.example:8080', ...headers }, isUpgrade }, port);

describe('the plain listener while TLS is on', () => {
  test.each([
    '/health',
    '/health?x=1',
    '/health/live',
    '/health/ready',
    '/agent/ws',
    '/v1/agent/jobs/pending',
  ])('serves %s', (url) => {
    expect(ask(url)).toEqual({ kind: 'serve' });
  });

  test('serves what a TLS proxy forwarded, by the exact word https only', () => {
    expect(ask('/v1/me', { 'x-forwarded-proto': 'https' })).toEqual({ kind: 'serve' });
    for (const word of ['HTTPS', 'https,http', 'http', '']) {
      expect(ask('/v1/me', { 'x-forwarded-proto': word }).kind).toBe('redirect');
    }
  });

  test('lets the agent upgrade and refuses every other upgrade with https_required', () => {
    expect(ask('/agent/ws', {}, true)).toEqual({ kind: 'serve' });
    for (const url of ['/v1/signal?token=a', '/agent/ws2', '/']) {
      const verdict = ask(url, {}, true);
      expect(verdict.kind === 'refuse' && [verdict.error.code, verdict.error.status]).toEqual([
        'https_required',
        426,
      ]);
      expect(verdict.kind === 'refuse' && verdict.error.extras.headers).toEqual({ connection: 'close' });
    }
  });

  test.each([
    ['/', 'play.example:8080', 8443, 'https://play.example:8443/'],
    ['/app?x=1&y=%20', 'play.example', 8443, 'https://play.example:8443/app?x=1&y=%20'],
    ['/app', 'play.example:8080', 443, 'https://play.example/app'],
    ['/v1/tls/certificate.pem', '192.0.2.7:8080', 9443, 'https://192.0.2.7:9443/v1/tls/certificate.pem'],
    ['/app', '[2001:db8::1]:8080', 8443, 'https://[2001:db8::1]:8443/app'],
    ['/app', '[::1]', 443, 'https://[::1]/app'],
    ['/agent', 'a', 443, 'https://a/agent'],
    ['/v1/agents', 'a', 443, 'https://a/v1/agents'],
    ['/healthy', 'a', 443, 'https://a/healthy'],
  ])('sends %s of host %s with port %i to %s', (url, host, port, location) => {
    expect(ask(url, { host }, false, port)).toEqual({ kind: 'redirect', location });
  });

  test.each(['', 'a b', 'evil.example/path', 'a:b', '[::1', 'user@host'])('refuses Host "%s"', (host) => {
    expect(ask('/app', { host }).kind).toBe('refuse');
  });

  test('never builds a Location from an absolute request line', () => {
    expect(ask('http://evil.example/').kind).toBe('refuse');
  });
});
