import type { Page } from 'playwright-core';

/** Gives a page the bearer token of an account before its app starts, as the login page would have left it. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.addInitScript((value) => {
    localStorage.setItem('service.auth.token', value);
    localStorage.setItem('service.auth.expires_at', new Date(Date.now() + 3_600_000).toISOString());
  }, token);
}
