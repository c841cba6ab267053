import { forgetLogin } from '../api/auth-store.ts';
import { call } from '../api/client.ts';

/**
 * Ends the login here and on the server. The page forgets the token even when the server cannot be reached: a
 * person who logs out on a shared machine must be out; the token then runs out by its own time.
 */
export async function signOut(): Promise<void> {
  await call('auth.logout', {}).catch(() => {});
  forgetLogin();
  window.location.assign('/login');
}
