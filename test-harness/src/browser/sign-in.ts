import type { Page } from 'playwright-core';

/** Stores an account's bearer token in the page before the app starts, as the login page does. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.addInitScript((value) => {
    localStorage.setItem('service.auth.token', value);
    localStorage.setItem('service.auth.expires_at', new Date(Date.now() + 3_600_000).toISOString());
  }, token);
}
