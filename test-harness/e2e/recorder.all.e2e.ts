import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../src/browser/chromium.ts';
import { coloursAt, framesShown, isNear, type Rgb } from '../src/browser/picture.ts';
import { signIn } from '../src/browser/sign-in.ts';
import { descendants } from '../src/stack/host-traces.ts';
import { eventually, PATIENCE_MS } from '../src/stack/program.ts';
import { PersonSessions } from '../src/stack/sessions.ts';
import { type Stack, startStack } from '../src/stack/stack.ts';

/**
 * The Diagnostics picture begins with these bars, in its upper third. In a file, Chromium shows them with a deviation
 * of up to 22; with the colour matrix of standard definition, green would be 39 too low.
 */
const BARS: Rgb[] = [
  [255, 255, 255],
  [255, 255, 0],
  [0, 255, 255],
  [0, 255, 0],
];
const POINTS = BARS.map((_, index) => [(index + 0.5) / 8, 0.15] as const);
const images = path.resolve(import.meta.dirname, '../../test-results');

interface Recording {
  recording_id: string;
  state: string;
  bytes: number;
  duration_ms: number;
  error: string | null;
}

let stack: Stack;
let person: PersonSessions;
let token: string;
let appId: string;
let browser: Browser;
/** Serves a downloaded recording, as a file on an administrator's disk. */
let disk: Server;
let file: Buffer = Buffer.alloc(0);

beforeAll(async () => {
  stack = await startStack({ agentPreload: 'node-agent/src/media/testing/codec-encoders.ts' });
  ({ token } = await stack.claim());
  person = new PersonSessions(stack, token);
  appId = await person.app('A small picture', null);
  browser = await startBrowser();
  disk = createServer((request, response) => {
    response.setHeader('content-type', request.url === '/' ? 'text/html' : 'video/mp4');
    response.end(request.url === '/' ? '<video></video>' : file);
  });
  await new Promise<void>((resolve) => disk.listen(0, '127.0.0.1', resolve));
  mkdirSync(images, { recursive: true });
  await person.call('PATCH', '/v1/admin/settings', { flight_recorder_enabled: true });
});

afterAll(async () => {
  disk?.close();
  await browser?.close();
  await person?.close();
  await stack?.stop();
});

async function launch(codec = 'h264'): Promise<string> {
  const { id } = await person.launch(appId, { codec });
  await person.reaches(id, 'app presented');
  return id;
}

async function open(id: string): Promise<Page> {
  const page = await browser.newPage();
  await signIn(page, token);
  await page.goto(`${stack.httpsUrl}/app/session/${id}`);
  return page;
}

function ready(id: string): Promise<Recording> {
  return eventually('a recording is ready', PATIENCE_MS, async () => {
    const { body } = await person.call('GET', `/v1/admin/sessions/${id}/recordings`);
    const [newest] = body.items as Recording[];
    if (newest?.state === 'failed') throw new Error(`it failed: ${newest.error}`);
    return newest?.state === 'ready' ? newest : null;
  });
}

function download(id: string, recordingId: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const url = `${stack.httpsUrl}/v1/admin/sessions/${id}/recordings/${recordingId}`;
    const options = { headers: { authorization: `Bearer ${token}` }, rejectUnauthorized: false };
    const request = httpsRequest(url, options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        response.statusCode === 200
          ? resolve(Buffer.concat(chunks))
          : reject(new Error(`${response.statusCode} ${Buffer.concat(chunks)}`)),
      );
    });
    request.on('error', reject);
    request.end();
  });
}

interface Played {
  durationS: number;
  endedAtS: number;
  frames: number;
  error: string | null;
  ended: boolean;
  hasSound: boolean;
}

/** Plays the downloaded file to its end in a separate page, at eight times the speed. */
async function play(): Promise<{ page: Page; played: Played }> {
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${(disk.address() as AddressInfo).port}/`);
  const played = await page.evaluate(async () => {
    const video = document.querySelector('video') as HTMLVideoElement & {
      webkitAudioDecodedByteCount: number;
    };
    video.muted = true;
    video.playbackRate = 8;
    const loaded = new Promise((resolve) => {
      video.onloadedmetadata = resolve;
      video.onerror = resolve;
    });
    video.src = '/recording.mp4';
    await loaded;
    const durationS = video.duration;
    const over = new Promise((resolve) => {
      video.onended = resolve;
      video.onerror = resolve;
    });
    if (video.error === null) {
      await video.play();
      await over;
    }
    return {
      durationS,
      endedAtS: video.currentTime,
      frames: video.getVideoPlaybackQuality().totalVideoFrames,
      error: video.error?.message ?? null,
      ended: video.ended,
      hasSound: video.webkitAudioDecodedByteCount > 0,
    };
  });
  return { page, played };
}

/** Compares the played file with the host's report. */
async function expectPlayed(recording: Recording): Promise<void> {
  const { page, played } = await play();
  expect(played).toMatchObject({ error: null, ended: true });
  expect(Math.abs(played.durationS - recording.duration_ms / 1000)).toBeLessThan(0.25);
  expect(Math.abs(played.endedAtS - recording.duration_ms / 1000)).toBeLessThan(0.25);
  const seen = await coloursAt(page, POINTS);
  expect(BARS.map((bar, index) => (isNear(seen[index], bar) ? 'near' : seen[index]))).toEqual(
    BARS.map(() => 'near'),
  );
  await page.close();
}

describe('a recorded session', () => {
  test.each(['h264', 'av1'])(
    'in %s is kept, downloaded and played in Chromium, with its length and its sound',
    async (codec) => {
      const id = await launch(codec);
      expect((await person.read(id)).stream.recording).toBe(true);
      const watching = await open(id);
      await eventually(
        'five seconds of it',
        PATIENCE_MS,
        async () => (await framesShown(watching)) >= 150 || null,
      );
      await watching.close();
      expect((await person.call('POST', `/v1/admin/sessions/${id}/recordings`)).status).toBe(202);
      const recording = await ready(id);
      // The recording contains 150 frames at 30 frames a second, and frames from before the viewer connected.
      expect(recording.duration_ms).toBeGreaterThan(4_800);
      expect(recording.duration_ms).toBeLessThan(60_000);
      file = await download(id, recording.recording_id);
      expect(file.length).toBe(recording.bytes);
      await expectPlayed(recording);
      const { played } = await play();
      expect(played.hasSound).toBe(true);
      expect(played.frames).toBeGreaterThan(140);
      await person.stop(id);
      // The end of the session deleted its ring buffer, so a new recording is refused. The existing recording stays.
      const { status, body } = await person.call('POST', `/v1/admin/sessions/${id}/recordings`);
      expect([status, body.error.code]).toEqual([409, 'session_not_running']);
      expect((await download(id, recording.recording_id)).equals(file)).toBe(true);
    },
  );

  test('is saved by itself when its media worker is killed', async () => {
    const id = await launch();
    const viewer = await person.watch(id);
    await viewer.frames(90);
    const workers = descendants(stack.agent.pid)
      .filter(([, command]) => command.includes('worker-main'))
      .map(([pid]) => pid);
    expect(workers.length).toBeGreaterThan(0);
    for (const pid of workers) process.kill(pid, 'SIGKILL');
    expect(await person.ended(id)).toMatchObject({ state: 'failed', failure_code: 'media_worker_crashed' });
    const kept = await ready(id);
    file = await download(id, kept.recording_id);
    await expectPlayed(kept);
    // The ring buffer of the failed session still exists, so another recording is accepted.
    expect((await person.call('POST', `/v1/admin/sessions/${id}/recordings`)).status).toBe(202);
    const { body } = await person.call('GET', '/v1/admin/activity?limit=200');
    const freezes = body.items.filter(
      ({ action, target_id }: { action: string; target_id: string }) =>
        action === 'session.recording.freeze' && target_id === id,
    );
    expect(freezes.map(({ actor_username }: { actor_username: string | null }) => actor_username)).toEqual([
      'ada',
      null,
    ]);
  });

  test('is stored on its host where only the agent can read it', () => {
    const directory = path.join(stack.directory, 'agent', 'recordings');
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    const names = readdirSync(directory);
    expect(names.length).toBeGreaterThanOrEqual(3);
    for (const name of names) {
      const stats = statSync(path.join(directory, name));
      expect([name, stats.mode & 0o777, stats.uid]).toEqual([name, 0o600, process.getuid?.()]);
    }
  });

  test('shows its person a mark, at every size, that explains what it means', async () => {
    const id = await launch();
    const page = await open(id);
    const mark = page.getByText('The last minute is recorded');
    await mark.waitFor();
    await eventually(
      'the picture is shown',
      PATIENCE_MS,
      async () => (await coloursAt(page, POINTS)).length > 0 || null,
    );
    for (const [name, width, height] of [
      ['phone', 390, 844],
      ['laptop', 1366, 768],
    ] as const) {
      await page.setViewportSize({ width, height });
      const box = await mark.boundingBox();
      expect(box === null || box.x < 0 || box.x + box.width > width).toBe(false);
      const bar = await page.getByRole('button', { name: /full screen/i }).boundingBox();
      const isApart =
        bar === null || box === null || box.y >= bar.y + bar.height || box.x + box.width < bar.x;
      expect(isApart).toBe(true);
      await page.screenshot({ path: path.join(images, `recording-${name}.png`) });
    }
    await mark.click();
    await page.getByText('Administrators can save it for a day.').waitFor();
    for (const [name, width, height] of [
      ['laptop', 1366, 768],
      ['phone', 390, 844],
    ] as const) {
      await page.setViewportSize({ width, height });
      await page.screenshot({ path: path.join(images, `recording-${name}-open.png`) });
    }
    await page.close();
    await person.stop(id);
  });

  test('shows no mark if it began while the recorder was off', async () => {
    await person.call('PATCH', '/v1/admin/settings', { flight_recorder_enabled: false });
    const id = await launch();
    expect((await person.read(id)).stream.recording).toBe(false);
    const page = await browser.newPage();
    await signIn(page, token);
    await page.goto(`${stack.httpsUrl}/app/session/${id}`);
    await eventually(
      'the picture is shown',
      PATIENCE_MS,
      async () => (await coloursAt(page, POINTS)).length > 0 || null,
    );
    expect(await page.getByText('The last minute is recorded').count()).toBe(0);
    await page.close();
    await person.stop(id);
  });
});
