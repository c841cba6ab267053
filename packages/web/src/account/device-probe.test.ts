// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { saveLogin } from '../api/auth-store.ts';
import { browserOf, probeDevice, refreshHzOf } from './device-probe.ts';

describe('the measurement of a device', () => {
  test.each([
    [
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36',
      'Chrome',
      'Linux',
    ],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36 Edg/156.0',
      'Edge',
      'Windows',
    ],
    ['Mozilla/5.0 (Android 15; Mobile; rv:145.0) Gecko/145.0 Firefox/145.0', 'Firefox', 'Android'],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1',
      'Safari',
      'iOS',
    ],
    ['something else', undefined, undefined],
  ])('%s is %s on %s', (userAgent, name, platform) => {
    const { browser, platform: on } = browserOf(userAgent);
    expect([browser?.name, on]).toEqual([name, platform]);
  });

  test('takes the refresh rate from the median gap, so that one late frame does not count', () => {
    expect(refreshHzOf([0, 16.7, 33.3, 50, 133, 149.7])).toBe(60);
    expect(refreshHzOf([0, 6.94, 13.89])).toBe(144);
    expect(refreshHzOf([5])).toBeNull();
  });
});

describe('the device measurement for two people in one browser', () => {
  const NOW = Date.UTC(2026, 5, 2);
  let posted: unknown[];
  beforeEach(() => {
    localStorage.clear();
    posted = [];
    vi.stubGlobal('RTCRtpReceiver', { getCapabilities: () => null });
    vi.stubGlobal('fetch', async (_url: string, { headers }: { headers: Record<string, string> }) => {
      posted.push(headers.Authorization);
      return Response.json({ device: {} });
    });
  });
  afterEach(() => vi.unstubAllGlobals());
  const signIn = (id: string) =>
    saveLogin({ access_token: id, user: { id, email: `${id}@b`, username: id, role: 'user' } });

  test('is made for each person, and at most once an hour for the same one', async () => {
    signIn('ada');
    await probeDevice(NOW);
    await probeDevice(NOW + 60_000);
    signIn('bob');
    await probeDevice(NOW + 120_000);
    expect(posted).toEqual(['Bearer ada', 'Bearer bob']);
  });
});
