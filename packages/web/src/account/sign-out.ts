import { forgetLogin } from '../api/auth-store.ts';
import { call } from '../api/client.ts';

/**
 * Signs out here and on the server. The page removes the token even if the server does not answer, because a person who
 * signs out on a shared machine must be signed out. The token itself then stays valid until it expires.
 */
export async function signOut(): Promise<void> {
  await call('auth.logout', {}).catch(() => {});
  forgetLogin();
  openLogin();
}

/** Opens the login as a new document, so that the next person in this tab sees no data of the previous one. */
export function openLogin(): void {
  sessionStorage.clear();
  window.location.assign('/login');
}
