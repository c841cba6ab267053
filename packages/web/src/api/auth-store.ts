import { useSyncExternalStore } from 'react';
import { clock } from '../clock.ts';

/** The signed-in person of the login answer. */
export interface SignedInUser {
  id: string;
  email: string;
  username: string;
  role: 'user' | 'admin';
}

interface LoginAnswer {
  access_token: string;
  expires_at?: string | undefined;
  user: SignedInUser;
}

const TOKEN = 'service.auth.token';
const EXPIRES = 'service.auth.expires_at';
const USER = 'service.auth.user';
const DEVICE = 'service.device.key';
const REFUSED = 'footlight.login-refused';
const listeners = new Set<() => void>();
let cached: { raw: string | null; user: SignedInUser | null } = { raw: null, user: null };

/** The bearer token; null when signed out or expired. */
export function readToken(): string | null {
  const expires = localStorage.getItem(EXPIRES);
  if (expires !== null && Date.parse(expires) <= clock.nowMs()) return null;
  return localStorage.getItem(TOKEN);
}

/** Stores a login answer; other tabs get the change by the storage event. */
export function saveLogin(answer: LoginAnswer): void {
  localStorage.setItem(TOKEN, answer.access_token);
  if (answer.expires_at === undefined) localStorage.removeItem(EXPIRES);
  else localStorage.setItem(EXPIRES, answer.expires_at);
  sessionStorage.removeItem(REFUSED);
  saveUser(answer.user);
}

/** Stores the server's record of the person, because the person's role may have changed. */
export function saveUser({ id, email, username, role }: SignedInUser): void {
  localStorage.setItem(USER, JSON.stringify({ id, email, username, role }));
  notify();
}

/** Removes token and person. The device key stays, because it identifies the browser. */
export function forgetLogin(): void {
  for (const key of [TOKEN, EXPIRES, USER]) localStorage.removeItem(key);
  notify();
}

/**
 * Removes a login that the server no longer accepts. The login page of this tab shows a message until the next login.
 */
export function forgetRefusedLogin(): void {
  sessionStorage.setItem(REFUSED, '1');
  forgetLogin();
}

/** Whether the server ended the previous login of this tab. */
export function wasRefused(): boolean {
  return sessionStorage.getItem(REFUSED) !== null;
}

/** The stored signed-in person. It is only for display, because the server checks every request. */
export function readUser(): SignedInUser | null {
  const raw = readToken() === null ? null : localStorage.getItem(USER);
  if (raw !== cached.raw) cached = { raw, user: parseUser(raw) };
  return cached.user;
}

/** The signed-in person; updated after login, logout and changes in other tabs. */
export function useUser(): SignedInUser | null {
  return useSyncExternalStore(subscribe, readUser);
}

/** The signed-in person's id; '': not known yet; null: signed out. */
function personId(): string | null {
  return readToken() === null ? null : (readUser()?.id ?? '');
}

/**
 * Calls `callback` when the user of this document signs out in another tab, or when another user signs in there. The
 * document must then stop showing the first user's data.
 */
export function onPersonLeft(callback: () => void): () => void {
  let person = personId();
  const follow = () => {
    person = personId();
  };
  const compare = () => {
    const former = person;
    follow();
    if (former === null || former === person) return;
    if (person === null || (former !== '' && person !== '')) callback();
  };
  // A document in the back/forward cache gets no storage events, so it compares the person when it is shown again.
  const events = ['storage', 'pageshow'] as const;
  listeners.add(follow);
  for (const event of events) window.addEventListener(event, compare);
  return () => {
    listeners.delete(follow);
    for (const event of events) window.removeEventListener(event, compare);
  };
}

/**
 * A random id of this browser, created at the first login. With it the server can revoke all logins of this browser
 * together.
 */
export function deviceKey(): string {
  const stored = localStorage.getItem(DEVICE);
  if (stored !== null && stored.length > 0 && stored.length <= 256) return stored;
  const made = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  );
  localStorage.setItem(DEVICE, made.join(''));
  return made.join('');
}

function parseUser(raw: string | null): SignedInUser | null {
  if (raw === null) return null;
  try {
    const value: unknown = JSON.parse(raw);
    if (typeof value !== 'object' || value === null) return null;
    const { id, email, username, role } = value as Record<string, unknown>;
    if (typeof id !== 'string' || typeof email !== 'string' || typeof username !== 'string') return null;
    return { id, email, username, role: role === 'admin' ? 'admin' : 'user' };
  } catch {
    return null;
  }
}

function notify(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('storage', listener);
  };
}
