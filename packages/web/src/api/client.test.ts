// @vitest-environment happy-dom
import type { UnknownCode } from '@footlight/protocol';
import { ERRORS } from '@footlight/protocol/rest';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { adminOperationTable } from '../admin/frame/admin-operation-table.ts';
import { readToken, saveLogin } from './auth-store.ts';
import { ApiFailure, addOperations, call, onSignedOut } from './client.ts';
import { errorText, NO_HOST } from './error-text.ts';
import { shouldRetry } from './query-client.ts';

const user = { id: '1', email: 'a@example.net', username: 'alice', role: 'user' } as const;
const ID = '00000000-0000-4000-8000-000000000001';
let answer: () => Response | Promise<Response>;
const requests: { url: string; init: RequestInit }[] = [];

beforeEach(() => {
  addOperations(adminOperationTable);
  localStorage.clear();
  requests.length = 0;
  answer = () => Response.json({});
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    requests.push({ url, init });
    return answer();
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  onSignedOut(() => {});
});

const refuse =
  (status: number, code: string, extras: object = {}, headers: Record<string, string> = {}) =>
  () =>
    Response.json({ error: { code, message: `about ${code}`, ...extras } }, { status, headers });
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.unreachable('it should be refused'),
    (error: unknown) => error as ApiFailure,
  );

describe('a call', () => {
  test('fills the path, and sends the query, the body and the bearer token', async () => {
    saveLogin({ access_token: 'secret', user });
    await call('apps.delete', { params: { id: ID }, query: { delete_derived: true } });
    await call('hosts.drain', { params: { id: ID }, body: { force: false } });
    expect(requests[0]?.url).toBe(`/v1/apps/${ID}?delete_derived=true`);
    expect(requests[0]?.init.method).toBe('DELETE');
    expect(requests[0]?.init.body).toBeNull();
    expect(requests[1]?.init.body).toBe('{"force":false}');
    expect(requests[1]?.init.headers).toMatchObject({ Authorization: 'Bearer secret' });
  });

  test('sends no bearer token to public operations, and never an expired one', async () => {
    saveLogin({ access_token: 'secret', user });
    await call('setup.status', {});
    saveLogin({ access_token: 'old', expires_at: '2020-01-01T00:00:00.000Z', user });
    await call('me.read', {});
    for (const { init } of requests) expect(init.headers).not.toHaveProperty('Authorization');
  });

  test('returns undefined for an empty answer', async () => {
    answer = () => new Response(null, { status: 204 });
    expect(await call('auth.logout', {})).toBeUndefined();
  });

  test('keeps the fields of a refusal besides its code', async () => {
    answer = refuse(409, 'home_in_use', {
      session_id: ID,
      live_sessions: 2,
      derived_tiles: [{ id: ID, name: 'Tile' }],
    });
    const failure = await failureOf(call('sessions.launch', { body: { app_id: ID, mic: false } }));
    expect(failure).toMatchObject({ status: 409, code: 'home_in_use', sessionId: ID, liveSessions: 2 });
    expect(failure.derivedTiles).toEqual([{ id: ID, name: 'Tile' }]);
  });

  test('handles an answer that is not an envelope, and a missing answer', async () => {
    answer = () => new Response('<html>bad gateway</html>', { status: 502 });
    expect(await failureOf(call('me.read', {}))).toMatchObject({ status: 502, code: 'unreadable' });
    answer = () => Promise.reject(new TypeError('failed to fetch'));
    expect(await failureOf(call('me.read', {}))).toMatchObject({ status: 0, code: 'network' });
  });

  test('a refused token is forgotten and the page is informed, once per token', async () => {
    const told = vi.fn();
    onSignedOut(told);
    saveLogin({ access_token: 'secret', user });
    answer = refuse(401, 'unauthorized');
    await failureOf(call('me.read', {}));
    expect(readToken()).toBeNull();
    expect(told).toHaveBeenCalledTimes(1);
  });

  test('a 401 from a login or for a previous token does not sign out', async () => {
    const told = vi.fn();
    onSignedOut(told);
    saveLogin({ access_token: 'secret', user });
    answer = refuse(401, 'invalid_credentials');
    await failureOf(call('auth.login', { body: { email: 'a', password: 'b' } }));
    answer = () => {
      saveLogin({ access_token: 'newer', user });
      return refuse(401, 'unauthorized')();
    };
    await failureOf(call('me.read', {}));
    expect(readToken()).toBe('newer');
    expect(told).not.toHaveBeenCalled();
  });
});

describe('which failures are retried', () => {
  test.each([
    [new ApiFailure(0, 'network', ''), true],
    [new ApiFailure(500, 'internal', ''), true],
    [new ApiFailure(503, 'internal', ''), true],
    [new ApiFailure(503, 'capacity_exhausted', ''), false],
    [new ApiFailure(429, 'rate_limited', ''), false],
    [new ApiFailure(404, 'not_found', ''), false],
    [new TypeError('a bug of ours'), false],
  ])('%s: %s', (error, again) => {
    expect(shouldRetry(0, error)).toBe(again);
    expect(shouldRetry(3, error)).toBe(false);
  });
});

describe('errors in words', () => {
  test('no host: the server’s own sentence if it says more than the code', () => {
    const advice = (message: string) => errorText(new ApiFailure(503, 'no_host_available', message)).advice;
    expect(NO_HOST).toBe(ERRORS.no_host_available.message);
    expect(advice(NO_HOST)).toContain('Ask an administrator to look at the hosts');
    expect(advice('No host runs containers yet.')).toBe('No host runs containers yet. Ask an administrator.');
  });

  test('a known code has its own text, with the code to quote', () => {
    const text = errorText(new ApiFailure(503, 'capacity_exhausted', 'raw'));
    expect(text.title).toBe('Every machine is busy');
    expect(text.code).toBe('capacity_exhausted · 503');
  });

  test('an unknown code uses its status and keeps the server’s sentence', () => {
    expect(errorText(new ApiFailure(409, 'brand_new' as UnknownCode, 'The flux is reversed.'))).toEqual({
      title: 'This does not fit the current state',
      advice: 'The flux is reversed.',
      code: 'brand_new · 409',
    });
    expect(errorText(new ApiFailure(507, 'brand_new' as UnknownCode, 'raw')).title).toBe(
      'The server had a problem',
    );
  });

  test('a rate limit shows the time to wait', () => {
    expect(errorText(new ApiFailure(429, 'rate_limited', '', { retryAfterSecs: 30 })).advice).toContain(
      '30 seconds',
    );
    expect(errorText(new ApiFailure(429, 'rate_limited', '', { retryAfterSecs: 600 })).advice).toContain(
      '10 minutes',
    );
  });

  test('an unreadable answer is shown as our own fault', () => {
    expect(errorText(new Error('x')).title).toBe('This page had an error');
    expect(errorText(null).code).toBe('unknown');
  });
});
