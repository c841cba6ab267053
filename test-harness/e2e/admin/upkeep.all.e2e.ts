import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { signIn } from '../../src/browser/sign-in.ts';
import { FakeAgent, softwareCapacity } from '../../src/fake-agent/index.ts';
import { type PublishedImages, publishImages } from '../../src/published-images.ts';
import { PATIENCE_MS } from '../../src/stack/program.ts';
import { PersonSessions } from '../../src/stack/sessions.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';

const GRACE = { email: 'grace@example.org', username: 'grace', password: 'another-long-pass-phrase' };
const NEW_PASSWORD = 'violet lantern parade';
/** Time within which a page must show a change. */
const LIVE_MS = process.env.FOOTLIGHT_LONG === '1' ? 3_000 : PATIENCE_MS;

describe('an administrator', () => {
  let published: PublishedImages;
  let stack: Stack;
  let person: PersonSessions;
  let browser: Browser;
  let page: Page;
  let fake: FakeAgent;
  let graceId: string;
  const uncaught: string[] = [];

  beforeAll(async () => {
    published = await publishImages({ id: 'paint' });
    stack = await startStack({ controlEnv: published.env });
    const { token } = await stack.claim();
    person = new PersonSessions(stack, token);
    await person.call('PATCH', '/v1/admin/settings', { registration_mode: 'open' });
    graceId = (await stack.call('POST', '/v1/auth/register', { body: GRACE })).body.user.id;
    const enrollment = await person.call('POST', '/v1/admin/enrollment-tokens', {});
    fake = new FakeAgent({
      url: stack.httpUrl,
      nodeName: 'far-away',
      credential: { token: enrollment.body.token },
      capacity: softwareCapacity(),
    });
    // The test reports the host's images.
    fake.behaviour.pull = [];
    await fake.connect();
    browser = await startBrowser({ width: 1366, height: 768 });
    page = await browser.newPage();
    page.on('pageerror', (error) => uncaught.push(String(error)));
    await signIn(page, token);
    // GET /v1/me sets the cookie that opens the administrators' documents.
    await page.goto(`${stack.httpsUrl}/login`);
    await page.waitForURL('**/app');
  });

  afterAll(async () => {
    await browser?.close();
    await fake?.drop();
    await person?.close();
    await stack?.stop();
    await published?.close();
  });

  const open = (path: string) => page.goto(`${stack.httpsUrl}${path}`);
  const press = (name: string | RegExp) => page.getByRole('button', { name }).click();
  const shows = (text: string | RegExp) => page.getByText(text).first().waitFor();

  test('runs a job, sees its end in the history, and changes its schedule', async () => {
    await open('/admin/jobs?sort=name');
    await page.getByRole('link', { name: 'Expired sign-ins' }).click();
    await page.getByRole('heading', { level: 1, name: 'Expired sign-ins' }).waitFor();
    const byHand = page.getByRole('row').filter({ hasText: 'An administrator' });
    expect(await byHand.count()).toBe(0);
    await press('Run now');
    await shows(/^Expired sign-ins was requested\. Starts within/);
    await byHand.filter({ hasText: 'Done' }).waitFor();
    await page.getByLabel('Time between two runs').fill('12');
    await press('Save changes');
    await shows('Expired sign-ins was saved');
    await page.getByRole('definition').filter({ hasText: 'Every 12 hours' }).waitFor();
    await page.reload();
    await page.getByRole('definition').filter({ hasText: 'Every 12 hours' }).waitFor();
  });

  test('installs an image, sees the pull advance within 3 s, pins and updates it, and uninstalls it', async () => {
    await open('/admin/images');
    await press('Fetch the catalog');
    await page.getByRole('link', { name: 'paint' }).click();
    await page.getByRole('heading', { level: 1, name: 'paint' }).waitFor();
    await press('Install');
    await press('Install on 2 hosts');
    await shows('paint is being installed on 2 hosts');
    const row = page.getByRole('row').filter({ hasText: 'far-away' });
    for (const percent of [10, 55, 90]) {
      fake.reportImage('paint', '1.0.0', { state: 'pulling', progress_pct: percent });
      await row.getByText(`${percent} %`).waitFor({ timeout: LIVE_MS });
    }
    fake.reportImage('paint', '1.0.0', { state: 'ready', bytes: 734_003_200 });
    await row.getByText('Ready').waitFor({ timeout: LIVE_MS });
    await press('Pin this version');
    await shows('paint stays at 1.0.0');
    published.publish('paint', '1.1.0');
    await person.call('POST', '/v1/admin/images/sync');
    await shows(/^1\.1\.0 is newer\. The image is pinned/);
    await press('Unpin');
    await shows('paint may be updated again');
    await press('Update to 1.1.0');
    await shows('paint 1.1.0 is being fetched by 2 hosts');
    fake.reportImage('paint', '1.1.0', { state: 'ready', bytes: 734_003_200 });
    await row.filter({ hasText: '1.1.0' }).getByText('Ready').waitFor({ timeout: LIVE_MS });
    await press('Uninstall');
    await shows(/It is deleted on 1 host, which frees 734 MB/);
    await press('Remove it from 1 host');
    await shows('paint was removed from the instance');
    await page.getByRole('definition').filter({ hasText: 'Not installed' }).waitFor();
  });

  test('finds a person’s home and deletes it, but not while it is used', async () => {
    // The fake host is drained, so that the real host gets the session.
    await person.call('POST', `/v1/hosts/${fake.hostId}/drain`, {});
    const app = await person.app(
      'Writer',
      ['/bin/sh', '-c', 'echo saved > "$HOME/save"; exec xterm'],
      {},
      {
        managed_home: true,
      },
    );
    const { id } = await person.launch(app);
    await person.reaches(id, 'app presented');
    await open('/admin/homes');
    await press('Delete ada’s files of Writer on test-host');
    await press(/^Delete (1 home|.* of files)$/);
    const session = page.getByRole('link', { name: 'Open the session that uses it' });
    expect(await session.getAttribute('href')).toBe(`/admin/sessions/${id}`);
    await press('Cancel');
    await person.stop(id);
    await press('Delete ada’s files of Writer on test-host');
    await press(/^Delete (1 home|.* of files)$/);
    await shows('ada’s files of Writer on test-host will be deleted in a day');
    await press('Being deleted');
    await shows(/^Deleted (tomorrow|in)/);
    expect(page.url()).toContain('state=marked');
  });

  test('deletes an offline host', async () => {
    await fake.drop();
    await open(`/admin/hosts/${fake.hostId}`);
    await press('Delete');
    await page.getByRole('dialog').getByText('To add it again later, enroll its agent again.').waitFor();
    await press('Delete far-away');
    await shows('far-away was deleted');
    await page.waitForURL('**/admin/hosts');
    await page.getByRole('link', { name: 'test-host' }).waitFor();
    expect(await page.getByRole('link', { name: 'far-away' }).count()).toBe(0);
  });

  test('sees why no home is searched', async () => {
    await open('/admin/discovery');
    await shows('Switched off');
    await press('Search all homes now');
    await shows('Nothing was searched. Library discovery is switched off in the settings.');
  });

  test('creates a master key that is never sent', async () => {
    const sent: string[] = [];
    page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`));
    await open('/admin/settings');
    await press('Make a master key');
    const line = await page.getByLabel('line for the environment', { exact: true }).inputValue();
    expect(line).toMatch(/^SERVICE_SECRET_KEY=1:[A-Za-z0-9+/]{43}=$/);
    expect(sent.filter((each) => each.includes(line.slice(-20)))).toEqual([]);
  });

  test('sees at the field which origin is wrong', async () => {
    await open('/admin/settings');
    await page.getByLabel('Allowed origins').fill('https://play.example\nplay.lan/x');
    await press('Save settings');
    await shows(/^Line 2, “play\.lan\/x”, is not an address/);
  });

  test('gives a person who lost the password a link, which works once and not at localhost', async () => {
    await open(`/admin/users/${graceId}`);
    await press('Make a link to set a new password');
    await press('Make the link');
    const link = await page.getByLabel('link to set a new password', { exact: true }).inputValue();
    const { hostname } = new URL(link);
    expect(hostname).not.toMatch(/^(localhost|127\.|\[::1)/);
    await shows(`It uses the server’s own address ${new URL(link).host}`);

    const other = await startBrowser({ width: 390, height: 844 });
    try {
      const phone = await other.newPage();
      await phone.goto(link);
      await phone.getByLabel('New password', { exact: true }).fill('password1234');
      // The page has removed the link's token from the URL, so the history does not contain the token.
      expect(phone.url()).toMatch(/\/reset$/);
      await phone.getByRole('button', { name: 'Set the password' }).click();
      await phone.getByText(/^Too common, or it contains your name/).waitFor();
      await phone.getByLabel('New password', { exact: true }).fill(NEW_PASSWORD);
      await phone.getByRole('button', { name: 'Set the password' }).click();
      await phone.waitForURL('**/app');
      await phone.goto(link);
      await phone.getByLabel('New password', { exact: true }).fill(NEW_PASSWORD);
      await phone.getByRole('button', { name: 'Set the password' }).click();
      await phone.getByRole('heading', { name: 'This link cannot be used' }).waitFor();
    } finally {
      await other.close();
    }
    const login = await stack.call('POST', '/v1/auth/login', {
      body: { email: GRACE.email, password: NEW_PASSWORD },
    });
    expect(login.status).toBe(200);
  });

  test('reads the activity as text, follows a link, and saves it for a spreadsheet', async () => {
    await open('/admin/activity?about=job');
    await shows('Changed a background job');
    await page.getByRole('link', { name: 'Expired sign-ins' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Expired sign-ins' }).waitFor();
    await open('/admin/activity');
    await shows('Made a link to set a password');
    const saving = page.waitForEvent('download');
    await press('Save as CSV');
    const file = await (await saving).path();
    const lines = readFileSync(file, 'utf8').split('\r\n');
    expect(lines[0]).toContain('"Time","Who","What","Object"');
    expect(lines.some((line) => line.includes('"ada","Made a link to set a password","grace"'))).toBe(true);
    expect(uncaught).toEqual([]);
  });
});
