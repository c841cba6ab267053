// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { forgetLogin, onPersonLeft, saveLogin } from './auth-store.ts';

const loginOf = (id: string, token = `token of ${id}`) => ({
  access_token: token,
  user: { id, email: `${id}@example.net`, username: id, role: 'user' as const },
});
const left = vi.fn();
let stop: () => void;

/** Simulates a stored item of another tab; null removes it. Each item is reported to this document by an event. */
function elsewhere(items: Record<string, string | null>): void {
  for (const [key, value] of Object.entries(items)) {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  }
  for (const key of Object.keys(items)) window.dispatchEvent(new StorageEvent('storage', { key }));
}
const signedOut = { 'service.auth.token': null, 'service.auth.user': null };
const signedIn = ({ access_token, user }: ReturnType<typeof loginOf>) => ({
  'service.auth.token': access_token,
  'service.auth.user': JSON.stringify(user),
});

beforeEach(() => {
  localStorage.clear();
  left.mockClear();
  stop = onPersonLeft(left);
});
afterEach(() => stop());

describe('the document of a signed-in person', () => {
  beforeEach(() => saveLogin(loginOf('alice')));

  test('is left when another tab signs out', () => {
    elsewhere(signedOut);
    expect(left).toHaveBeenCalledTimes(1);
  });

  test('is left when another tab signs somebody else in', () => {
    elsewhere(signedIn(loginOf('bob')));
    expect(left).toHaveBeenCalledTimes(1);
  });

  test('is left if the browser restores it after the signed-in person changed', () => {
    localStorage.clear();
    window.dispatchEvent(new Event('pageshow'));
    expect(left).toHaveBeenCalledTimes(1);
  });

  test('stays for a new token of the same person, and for other stored items', () => {
    elsewhere(signedIn(loginOf('alice', 'newer')));
    elsewhere({ 'footlight.scheme': 'dark' });
    expect(left).not.toHaveBeenCalled();
  });

  test('stays when the person signs out here, because that code opens the login', () => {
    forgetLogin();
    elsewhere(signedIn(loginOf('bob')));
    expect(left).not.toHaveBeenCalled();
  });
});

test('a signed-out document stays when another tab signs in', () => {
  elsewhere(signedIn(loginOf('alice')));
  expect(left).not.toHaveBeenCalled();
});
