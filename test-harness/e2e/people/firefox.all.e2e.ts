import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FirefoxPage, startFirefox } from '../../src/browser/firefox.ts';
import { eventually } from '../../src/stack/program.ts';
import { PersonSessions } from '../../src/stack/sessions.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';

// Debian's Firefox plays H.264 in files but not in WebRTC, because WebRTC needs a plug-in that Firefox would download.
// It decodes AV1, so the test uses an AV1 encoder without a GPU, which only tests have.

/** A terminal, black on white, whose program records its input. */
const TERMINAL = `exec xterm -u8 -bg white -e /bin/sh -c 'stty raw -echo; exec cat >"$HOME/typed"'`;
/** Frames shown since the first call, and the brightness in the middle of the picture, 0 to 255. */
const LOOK = `
  const video = document.querySelector('video');
  if (video === null || video.videoWidth === 0) return { frames: 0, brightness: 0 };
  if (video.framesSeen === undefined) {
    video.framesSeen = 0;
    const count = () => {
      video.framesSeen += 1;
      video.requestVideoFrameCallback(count);
    };
    video.requestVideoFrameCallback(count);
  }
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 8;
  const context = canvas.getContext('2d');
  context.drawImage(video, 0, 0, 8, 8);
  return { frames: video.framesSeen, brightness: context.getImageData(4, 4, 1, 1).data[0] };`;

describe.runIf(process.env.FOOTLIGHT_LONG === '1')('a person in Firefox', () => {
  let stack: Stack;
  let sessions: PersonSessions;
  let account: { token: string; email: string; password: string };
  let page: FirefoxPage;

  beforeAll(async () => {
    [stack, page] = await Promise.all([
      startStack({ agentPreload: 'node-agent/src/media/testing/codec-encoders.ts' }),
      startFirefox(),
    ]);
    account = await stack.claim();
    sessions = new PersonSessions(stack, account.token);
    const runtime_spec = { args: ['/bin/sh', '-c', TERMINAL] };
    const send = async (method: string, url: string, body: object) => {
      const { status, body: answer } = await sessions.call(method, url, body);
      expect(status, `${method} ${url}: ${JSON.stringify(answer)}`).toBeLessThan(300);
    };
    for (const codec of ['av1', 'h264']) {
      const small = { width: 320, height: 240, fps: 30, nominal_bitrate_kbps: 1000 };
      await send('POST', '/v1/admin/stream-profiles', { id: codec, display_name: codec, codec, ...small });
    }
    const profile = { id: 'small', display_name: 'Small', rungs: ['av1', 'h264'] };
    await send('POST', '/v1/admin/launch-profiles', profile);
    const notes = await sessions.app('Notes', null, {}, { managed_home: true, runtime_spec });
    await send('PATCH', `/v1/apps/${notes}`, { default_profile_id: 'small', profile_policy: 'force' });
    await sessions.app('H.264 only', null);
  });

  afterAll(async () => {
    await page?.close();
    await sessions?.close();
    await stack?.stop();
  });

  /** Input that the terminal has read. */
  function typed(): string {
    const homes = path.join(stack.directory, 'agent', 'homes');
    const [file] = readdirSync(homes, { recursive: true, encoding: 'utf8' }).filter((each) =>
      each.endsWith('/typed'),
    );
    return file === undefined ? '' : readFileSync(path.join(homes, file), 'utf8');
  }
  const at = (end: string) =>
    eventually(
      `the page ${end}`,
      20_000,
      async () => new URL(await page.url()).pathname.startsWith(end) || null,
    );

  test('signs in and sees the library', async () => {
    await page.open(`${stack.httpsUrl}/login`);
    await (await page.find('input[type="email"]')).type(account.email);
    await (await page.find('input[type="password"]')).type(account.password);
    await (await page.find('button[type="submit"]')).click();
    await at('/app');
    await page.find('[data-tile]', 'Launch Notes');
  });

  test('sees a message if this browser cannot decode the picture', async () => {
    await (await page.find('[data-tile]', 'Launch H.264 only')).click();
    await page.find('[role="alertdialog"]', 'This browser cannot play the picture');
    await (await page.find('[role="alertdialog"] button', 'Back to the library')).click();
    await (await page.find('button', 'End H.264 only')).click();
    await (await page.find('dialog[open] button', 'End H.264 only')).click();
    await page.gone('article');
  });

  test('launches an app, sees it live, and types into it', async () => {
    await (await page.find('[data-tile]', 'Launch Notes')).click();
    await at('/app/session/');
    type Look = { frames: number; brightness: number };
    const from = await eventually('the white terminal is shown', 30_000, async () => {
      const seen = await page.run<Look>(LOOK);
      return seen.brightness > 200 ? seen.frames : null;
    });
    await eventually('the picture goes on', 20_000, async () => {
      const { frames } = await page.run<Look>(LOOK);
      return frames > from + 15 || null;
    });
    await page.type('in firefox 1');
    await expect.poll(typed).toBe('in firefox 1');
  });

  test('goes back to the library, resumes, and ends the app', async () => {
    await page.open(`${stack.httpsUrl}/app`);
    await (await page.find('button', 'Resume Notes')).click();
    await at('/app/session/');
    await eventually('the picture is back', 30_000, async () => {
      const { brightness } = await page.run<{ brightness: number }>(LOOK);
      return brightness > 200 || null;
    });
    await page.open(`${stack.httpsUrl}/app`);
    await (await page.find('button', 'End Notes')).click();
    await (await page.find('dialog[open] button', 'End Notes')).click();
    await page.gone('article');
  });

  test('signs out', async () => {
    await page.open(`${stack.httpsUrl}/app/account`);
    await (await page.find('main button', 'Log out')).click();
    await at('/login');
    expect(await page.run('return localStorage.getItem("service.auth.token")')).toBe(null);
  });
});
