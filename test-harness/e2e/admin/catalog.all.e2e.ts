import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { signIn } from '../../src/browser/sign-in.ts';
import { FakeAgent, softwareCapacity } from '../../src/fake-agent/index.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';

const PASSWORD = 'another-long-pass-phrase';
const MASTER_KEY = `1:${Buffer.alloc(32, 7).toString('base64')}`;

describe('an administrator', () => {
  let stack: Stack;
  let browser: Browser;
  let page: Page;
  let fake: FakeAgent;
  let token: string;
  const uncaught: string[] = [];

  beforeAll(async () => {
    stack = await startStack({ controlEnv: { SERVICE_SECRET_KEY: MASTER_KEY } });
    token = (await stack.claim()).token;
    await ask('PATCH', '/v1/admin/settings', { registration_mode: 'open' });
    await register('grace');
    const enrollment = await ask('POST', '/v1/admin/enrollment-tokens', {});
    fake = new FakeAgent({
      url: stack.httpUrl,
      nodeName: 'far-away',
      credential: { token: enrollment.token },
      capacity: softwareCapacity(),
    });
    await fake.connect();
    await ask('POST', `/v1/hosts/${fake.hostId}/drain`, {});
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
    await stack?.stop();
    expect(uncaught).toEqual([]);
  });

  /** @returns the id of a new account */
  async function register(username: string): Promise<string> {
    const body = { email: `${username}@example.org`, username, password: PASSWORD };
    return (await stack.call('POST', '/v1/auth/register', { body })).body.user.id;
  }

  /** Sends an administrator's request that must succeed. */
  async function ask(method: string, path: string, body?: object) {
    const answer = await stack.call(method, path, { token, ...(body && { body }) });
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    return answer.body;
  }

  const open = (path: string) => page.goto(`${stack.httpsUrl}${path}`);
  const press = (name: string | RegExp) => page.getByRole('button', { name, exact: true }).click();
  const shows = (text: string | RegExp) => page.getByText(text).first().waitFor({ timeout: 20_000 });

  const dialog = () => page.getByRole('dialog');
  const submit = (within: Locator) => within.locator('button[type=submit]').click();

  test('sees every column of the rungs on a laptop, however long their ids are', async () => {
    const id = 'hevc-2160p120-of-the-hall-on-the-second-floor';
    await ask('POST', '/v1/admin/stream-profiles', {
      id,
      display_name: 'HEVC 2160p120 of the hall on the second floor',
      codec: 'hevc',
      width: 3840,
      height: 2160,
      fps: 120,
      nominal_bitrate_kbps: 120_000,
    });
    await open('/admin/profiles');
    await shows(id);
    const hidden = await page.getByText(id).evaluate((cell) => {
      const frame = cell.closest('table')?.parentElement;
      return frame === null || frame === undefined ? Number.NaN : frame.scrollWidth - frame.clientWidth;
    });
    expect(hidden).toBe(0);
    await ask('DELETE', `/v1/admin/stream-profiles/${id}`);
  });

  test('adds a preset, a rung, a launch profile and an app that uses them, and deletes all four', async () => {
    await open('/admin/presets/new');
    await page.getByLabel('Name', { exact: true }).fill('Retro');
    await press('Add preset');
    await shows('Retro was added');
    await page.getByRole('heading', { level: 1, name: 'Retro' }).waitFor();
    await page.getByLabel('Description').fill('What the emulators share');
    await press('Save changes');
    await shows('Retro was saved');

    await open('/admin/profiles');
    await press('Add a rung');
    await dialog().getByLabel('Id', { exact: true }).fill('hall');
    await dialog().getByLabel('Name', { exact: true }).fill('Rung of the hall');
    await submit(dialog());
    await shows('Rung of the hall was added');
    await press('Rung of the hall');
    await dialog().getByLabel('Bitrate').fill('9000');
    await submit(dialog());
    await shows('Rung of the hall was saved');
    await open('/admin/new-profile');
    await page.getByLabel('Id', { exact: true }).fill('hall');
    await page.getByLabel('Name', { exact: true }).fill('The hall');
    await page.getByLabel('Rung to add').selectOption('hall');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await press('Add launch profile');
    await shows('The hall was added');
    await page.getByLabel('Description').fill('For the screen in the hall');
    await press('Save changes');
    await shows('The hall was saved');
    await open('/admin/profiles');
    await page.getByLabel('Default of the instance').selectOption('hall');
    await press('Save policy');
    await shows('The policy was saved');

    await open('/admin/apps/new');
    await page.getByLabel('Name', { exact: true }).fill('Made by hand');
    await page.getByLabel('Preset').selectOption({ label: 'Retro' });
    await page.getByLabel('Command').fill('/usr/bin/true');
    await page.getByLabel('Who gets it').selectOption('all');
    await page.getByLabel('Launch profiles that people may use with it').getByLabel('The hall').check();
    await press('Add app');
    await shows('Made by hand was added');
    await page.getByRole('heading', { level: 1, name: 'Made by hand' }).waitFor();
    await page.getByLabel('Description').fill('Nothing much');
    await press('Save changes');
    await shows('Made by hand was saved');
    // A grant for everybody exists. After a personal grant for the user `grace`, only the others lose the app when the
    // grant for everybody is removed.
    await press('Give to a person');
    await dialog().getByRole('button', { name: 'Give to grace' }).click();
    await page.keyboard.press('Escape');
    await press('Revoke it from everybody');
    await dialog().getByText('It disappears from the library of 1 person.').waitFor();
    await press('Revoke Made by hand');
    await page.getByRole('row').filter({ hasText: 'Everybody' }).waitFor({ state: 'detached' });

    await open('/admin/profiles/hall');
    await press('Delete');
    await dialog().getByText('It cannot be deleted while it is the default of the instance.').waitFor();
    await page.keyboard.press('Escape');
    await open('/admin/profiles');
    await page.getByLabel('Default of the instance').selectOption('');
    await press('Save policy');
    await shows('The policy was saved');
    await open('/admin/profiles/hall');
    await press('Delete');
    await dialog()
      .getByText(/list of 1 app that allows it\. It allows nothing else/)
      .waitFor();
    await press('Delete The hall');
    await shows('The hall was deleted');
    await press('Delete rung Rung of the hall');
    await press('Delete Rung of the hall');
    await shows('Rung of the hall was deleted');

    await open('/admin/presets');
    await page.getByRole('link', { name: 'Retro' }).click();
    await press('Delete');
    await dialog().getByText('1 app uses it. Choose another preset').waitFor();
    await press('Delete Retro');
    await dialog().getByRole('alert').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Made by hand' }).click();
    await press('Delete');
    await press('Delete Made by hand');
    await shows('Made by hand was deleted');
    await open('/admin/presets');
    await page.getByRole('link', { name: 'Retro' }).click();
    await press('Delete');
    await dialog().getByText('No app uses it.').waitFor();
    await press('Delete Retro');
    await shows('Retro was deleted');
  });

  test('changes what an account may do, revokes an invite, and deletes the account', async () => {
    const linus = await register('linus');
    await open(`/admin/users/${linus}`);
    await page.getByLabel('Role').selectOption('admin');
    await page.getByLabel('Sessions at once').fill('5');
    await press('Save changes');
    await shows('linus was saved');
    await page.getByRole('button', { name: 'Give an app' }).first().click();
    await dialog()
      .getByRole('button', { name: /^Give / })
      .first()
      .click();
    await page.keyboard.press('Escape');
    await press(/^Revoke /);
    await dialog()
      .getByText(/^(Nobody loses it|It disappears from)/)
      .waitFor();
    await dialog()
      .getByRole('button', { name: /^Revoke / })
      .click();
    await shows('None of its own');
    await press('Delete');
    await press('Delete linus');
    await shows('linus was deleted');

    await open('/admin/invites');
    await press('Make an invite');
    await dialog().getByLabel('Note').fill('for the club');
    await submit(dialog());
    await press('I have it');
    await press('Withdraw invite for the club');
    await press('Withdraw 1 invite');
    await shows('No invite is still valid');
  });

  test('revokes an enrollment token, sets a host up, drains it, returns it and restarts its agent', async () => {
    await open('/admin/hosts');
    await press('Add a host');
    await dialog().getByLabel('Note').fill('the cellar');
    await submit(dialog());
    await page.getByLabel('line that adds the host', { exact: true }).waitFor();
    await press('I have it');
    await press('Delete token the cellar');
    await press('Delete 1 token');
    await page.getByRole('row').filter({ hasText: 'the cellar' }).waitFor({ state: 'detached' });

    await open(`/admin/hosts/${fake.hostId}`);
    await press('Return to service');
    await shows('far-away takes sessions again');
    await press('Drain');
    await press('Drain far-away');
    await shows('far-away takes no new sessions');
    await page.locator('summary').filter({ hasText: 'Encoding' }).click();
    await page.getByLabel('Frames between keyframes', { exact: true }).fill('90');
    await press('Save 1 change');
    await shows('The settings of far-away were saved');
    await page.getByLabel('Show apps on a display that is plugged into this host').check();
    await press('Save 1 change');
    await shows('The display of far-away was saved');
    await press('Restart agent');
    await press('Restart the agent of far-away');
    await shows('far-away restarts');
    await fake.drop();
    await fake.connect();
  });

  test('uploads a picture of an app, shows that an address is refused, and removes the picture', async () => {
    const { app } = await ask('POST', '/v1/apps', {
      name: 'Pictured',
      runtime_spec: { args: ['/bin/true'] },
    });
    await open(`/admin/apps/${app.id}`);
    await shows(/^No pictures were chosen or looked up yet/);
    const file = { name: 'page.png', mimeType: 'image/png', buffer: await page.screenshot() };
    await page.locator('[data-crop="hero"] input[type=file]').setInputFiles(file);
    await shows(/^Chosen by an administrator/);
    await page.locator('[data-crop="hero"] img').waitFor();
    await press('Fetch from an address');
    await dialog().getByLabel('Tile, portrait 2:3').fill('https://127.0.0.1/tile.png');
    await submit(dialog());
    await dialog().getByRole('alert').waitFor();
    await page.keyboard.press('Escape');
    await press('Remove');
    await press('Remove the pictures');
    await shows(/^No pictures were chosen or looked up yet/);
  });

  test('stores the key of another service, searches for pictures there, and deletes the key', async () => {
    const { app } = await ask('POST', '/v1/apps', { name: 'Quest', runtime_spec: { args: ['/bin/true'] } });
    await open('/admin/settings');
    await press('Set');
    await dialog().getByLabel('Value').fill('a-key-of-another-service');
    await press('Store it');
    await shows('SteamGridDB API key was stored');

    // No test contacts SteamGridDB, so the test answers in its place. The page's content security policy must allow the
    // small picture.
    const thumb_data = `data:image/png;base64,${(await page.screenshot({ clip: { x: 0, y: 0, width: 20, height: 30 } })).toString('base64')}`;
    const candidates = [{ ref: '4711', name: 'Quest of the hall', thumb_url: null, thumb_data }];
    await page.route('**/artwork/search', (route) => route.fulfill({ json: { candidates } }));
    const away = { error: { code: 'provider_unavailable', message: 'SteamGridDB answered 503.' } };
    const picked: unknown[] = [];
    await page.route('**/artwork', (route, request) => {
      if (request.method() !== 'PUT') return route.fallback();
      picked.push(request.postDataJSON());
      return route.fulfill({ status: 503, json: away });
    });
    const counts = { total: 4, resolved: 3, skipped_locked: 1, failed: 0 };
    await page.route('**/artwork/reresolve', (route) => route.fulfill({ json: counts }));
    await open(`/admin/apps/${app.id}`);
    await press('Search');
    await dialog().locator('img').waitFor();
    expect(
      await dialog()
        .locator('img')
        .evaluate((node: HTMLImageElement) => node.naturalWidth),
    ).toBe(20);
    await press('Take the pictures of Quest of the hall');
    await dialog().getByRole('alert').waitFor();
    expect(picked).toEqual([{ provider_ref: '4711' }]);
    await page.keyboard.press('Escape');
    await press('Match every app again');
    await press('Match every app');
    await shows('3 of 4 apps got pictures, 1 kept the pictures that an administrator chose');
    await page.unrouteAll();

    await open('/admin/settings');
    await press('Remove');
    await press('Remove 1 secret');
    await shows('SteamGridDB API key was removed');
  });

  test('switches discovery and the recorder on', async () => {
    await open('/admin/settings');
    await page.getByLabel('Record the last minute of new sessions').check();
    await page.getByLabel('Show the games that people installed in their homes as apps').check();
    await press('Save settings');
    await shows('The settings were saved');
  });

  test('shows who may use a launcher, decides about a title of it, and removes the decision', async () => {
    const launcher = { name: 'Steam', library_provider: 'steam', managed_home: true };
    const body = { ...launcher, runtime_spec: { args: ['/usr/bin/true'] } };
    await ask('POST', '/v1/apps', body);
    await open('/admin/discovery');
    await press('Give to me alone');
    // 1 person: grace.
    await dialog()
      .getByText('It disappears from the library of 1 person. Running sessions continue.')
      .waitFor();
    await press('Give Steam to you alone');
    await shows(/^You alone may use it/);
    await press('Give to everybody');
    await press('Give Steam to everybody');
    await shows(/^Everybody may use it/);
    await press('Add a decision');
    await dialog().getByLabel('Number of the title').fill('440');
    await dialog().getByLabel('Decision').selectOption('ignore');
    await submit(dialog());
    await shows('The decision about 440 was saved');
    await press('Change the decision about 440');
    await dialog().getByLabel('Note').fill('a benchmark');
    await submit(dialog());
    await page.getByRole('row').filter({ hasText: 'a benchmark' }).waitFor();
    await press('Remove the decision about 440');
    await press('Remove 1 decision');
    await shows('No decisions');
  });

  test('adds a note to a session, saves its last minute and stops it', async () => {
    // The real host is drained, so that the fake host gets the session.
    const { items } = await ask('GET', '/v1/hosts');
    const real = items.find((host: { node_name: string }) => host.node_name !== 'far-away').id;
    await ask('POST', `/v1/hosts/${real}/drain`, {});
    await ask('POST', `/v1/hosts/${fake.hostId}/uncordon`);
    const body = { name: 'Watched', runtime_spec: { args: ['/usr/bin/true'] } };
    const { app } = await ask('POST', '/v1/apps', body);
    const { session } = await ask('POST', '/v1/sessions', { app_id: app.id });
    await open(`/admin/sessions/${session.id}`);
    await shows(/^It runs/);
    await page.getByPlaceholder('What you saw or were told').fill('It stutters');
    await press('Add note');
    await page.getByRole('row').filter({ hasText: 'It stutters' }).first().waitFor();
    await press('Save the last minute');
    await page
      .getByRole('region', { name: 'Recordings, table' })
      .getByText('Being written')
      .first()
      .waitFor();
    await press('Stop session');
    await press('Stop Watched');
    await fake.waitFor('session_stop');
  });
});
