import { describe, expect, test } from 'vitest';
import { loginPath, safeNext } from './next-path.ts';

describe('where a person goes after signing in', () => {
  test.each(['/app', '/admin', '/admin/hosts/1?q=2#x', '/app/session/9?a=//b'])('%s is followed', (path) => {
    expect(safeNext(path)).toBe(path);
  });

  test.each([
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    'https://evil.example',
    'javascript:alert(1)',
    'app',
    '',
    null,
    undefined,
    7,
    ['/app'],
    '/login?next=/login',
    '/register',
    '/setup',
  ])('%j is not', (next) => {
    expect(safeNext(next)).toBe('/app');
  });

  test('the login page gets the path to return to, escaped', () => {
    expect(loginPath('/admin/sessions?state=failed&q=a b')).toBe(
      '/login?next=%2Fadmin%2Fsessions%3Fstate%3Dfailed%26q%3Da%20b',
    );
    expect(loginPath('/app')).toBe('/login');
    expect(loginPath('//evil.example')).toBe('/login');
  });
});
