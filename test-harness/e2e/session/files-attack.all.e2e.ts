import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import type { AgentFiles, ViewerFiles } from '@footlight/protocol/files';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { framesShown } from '../../src/browser/picture.ts';
import { signIn } from '../../src/browser/sign-in.ts';
import { eventually } from '../../src/stack/program.ts';
import { PersonSessions } from '../../src/stack/sessions.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';

const MIB = 1024 * 1024;
const SECRET = 'what no viewer may read';
/** Characters that end a line, or change the direction of the following text. */
const TURNED = 'invoice\u202egpj.exe';
/** Script of an app that runs as the session's user in the session's home. */
const APP = `
mkdir -p many Uploads
mkfifo pipe
i=0; while [ $i -lt 1500 ]; do : >many/$i; i=$((i+1)); done
printf mine >note.txt
printf x >"$(printf 'line\\nbreak')"
printf x >"$(printf 'invoice\\342\\200\\256gpj.exe')"
touch ready
while :; do
  if [ -e race ]; then
    mv Uploads aside 2>/dev/null; ln -s "$OUTSIDE" Uploads 2>/dev/null
    rm -f Uploads; mv aside Uploads 2>/dev/null
  else sleep 0.1; fi
done`;

declare global {
  interface Window {
    /** The host's channel for files, as the page received it. */
    filesChannel?: RTCDataChannel;
    filesHeard: { texts: string[]; bytes: Record<number, number>; secret: boolean };
  }
}

/** Stores the page's channel for files, and its messages. */
async function keepChannel(page: Page): Promise<void> {
  await page.addInitScript((secret) => {
    const own = Object.getOwnPropertyDescriptor(RTCPeerConnection.prototype, 'ondatachannel');
    window.filesHeard = { texts: [], bytes: {}, secret: false };
    const heard = ({ data }: MessageEvent) => {
      if (typeof data === 'string') {
        window.filesHeard.texts.push(data);
        return;
      }
      const id = new DataView(data as ArrayBuffer).getUint32(0, true);
      const before = window.filesHeard.bytes[id] ?? 0;
      window.filesHeard.bytes[id] = before + (data as ArrayBuffer).byteLength - 4;
      if (new TextDecoder().decode(data as ArrayBuffer).includes(secret)) window.filesHeard.secret = true;
    };
    Object.defineProperty(RTCPeerConnection.prototype, 'ondatachannel', {
      set(this: RTCPeerConnection, listener: (event: RTCDataChannelEvent) => void) {
        own?.set?.call(this, (event: RTCDataChannelEvent) => {
          listener(event);
          if (event.channel.label !== 'files') return;
          event.channel.binaryType = 'arraybuffer';
          event.channel.addEventListener('message', heard);
          window.filesChannel = event.channel;
        });
      },
    });
  }, SECRET);
}

describe.runIf(process.getuid?.() === 0)('a hostile viewer and a hostile app at the files of a home', () => {
  let stack: Stack;
  let sessions: PersonSessions;
  let browser: Browser;
  let page: Page;
  let token: string;
  let appId: string;
  let id: string;
  let outside: string;
  let home: string;
  let nextId = 1;

  beforeAll(async () => {
    // A folder outside the home that the app can read and write. Only the agent's checks protect the folder from a
    // viewer.
    outside = mkdtempSync('/srv/footlight-outside-');
    execFileSync('chmod', ['0777', outside]);
    writeFileSync(path.join(outside, 'secret'), SECRET, { mode: 0o666 });
    mkdirSync(path.join(outside, 'empty'), { mode: 0o777 });
    stack = await startStack({ agentEnv: { SERVICE_ENCODE_SLOTS: '2', SERVICE_FILE_TRANSFER_MAX_MB: '16' } });
    token = (await stack.claim()).token;
    sessions = new PersonSessions(stack, token);
    const script = `cd; ${APP}`;
    appId = await sessions.app(
      'Hostile',
      null,
      {},
      {
        managed_home: true,
        runtime_spec: { args: ['xterm', '-e', '/bin/sh', '-c', script], env: { OUTSIDE: outside } },
      },
    );
    browser = await startBrowser();
    await watch();
    plant();
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await sessions?.close();
    await stack?.stop();
    if (outside) rmSync(outside, { recursive: true, force: true });
  });

  /** Launches, and opens the session's page. */
  async function watch(): Promise<void> {
    id = (await sessions.launch(appId)).id;
    await sessions.reaches(id, 'app presented', 60_000);
    page = await browser.newPage();
    await keepChannel(page);
    await signIn(page, token);
    await open();
    const homes = path.join(stack.directory, 'agent', 'homes');
    const found = await eventually(
      'the app has its home',
      20_000,
      async () =>
        execFileSync('find', ['-P', homes, '-name', 'ready'], { encoding: 'utf8' }).split('\n')[0] || null,
    );
    home = path.dirname(found);
  }

  async function open(): Promise<void> {
    await page.goto(`${stack.httpsUrl}/app/session/${id}`);
    await eventually('the page shows the session', 30_000, async () => (await framesShown(page)) > 5 || null);
    await eventually('the channel for files', 20_000, () =>
      page.evaluate(() => window.filesChannel?.readyState === 'open' || null),
    );
  }

  /** Files that only root can put into a home, and links out of it. */
  function plant(): void {
    execFileSync('mknod', ['-m', '0666', path.join(home, 'device'), 'c', '1', '5']);
    symlinkSync(path.join(outside, 'secret'), path.join(home, 'link-to-file'));
    symlinkSync(outside, path.join(home, 'link-to-folder'));
    symlinkSync('/proc/self', path.join(home, 'link-to-itself'));
    symlinkSync('loop', path.join(home, 'loop'));
    writeFileSync(path.join(home, 'huge'), '');
    truncateSync(path.join(home, 'huge'), 1024 ** 4);
  }

  const send = (messages: readonly (ViewerFiles | object)[]) =>
    page.evaluate(
      (texts) => {
        for (const text of texts) window.filesChannel?.send(text);
      },
      messages.map((message) => JSON.stringify(message)),
    );
  /** Sends the bytes of an upload, in frames. */
  const sendBytes = (transfer: number, bytes: number) =>
    page.evaluate(
      async ([number, total]) => {
        const channel = window.filesChannel;
        if (channel === undefined) return;
        for (let sent = 0; sent < total; sent += 65_536) {
          const frame = new Uint8Array(4 + Math.min(65_536, total - sent)).fill(0x61);
          new DataView(frame.buffer).setUint32(0, number, true);
          while (channel.readyState === 'open' && channel.bufferedAmount > 900_000)
            await new Promise(requestAnimationFrame);
          if (channel.readyState !== 'open') return;
          channel.send(frame);
        }
      },
      [transfer, bytes] as [number, number],
    );
  const answers = async (): Promise<AgentFiles[]> =>
    (await page.evaluate(() => window.filesHeard.texts)).map((text) => JSON.parse(text) as AgentFiles);
  const answersTo = async (...ids: number[]) => {
    const all = await answers();
    return ids.map((each) => all.findLast((answer) => answer.id === each));
  };
  /** Sends messages, and returns the last answer to each message. */
  async function ask(...messages: object[]): Promise<(AgentFiles | undefined)[]> {
    const numbered = messages.map((message) => ({ id: nextId++, ...message }));
    await send(numbered);
    const ids = numbered.map((message) => message.id);
    return await eventually('the answers', 20_000, async () => {
      const found = await answersTo(...ids);
      return found.every((answer) => answer !== undefined) ? found : null;
    });
  }
  /**
   * Begins an upload and sends a part of the file.
   * @returns its number
   */
  async function putHalf(name: string, size = 8 * MIB, part = 3 * MIB): Promise<number> {
    const number = nextId++;
    await send([{ type: 'put', id: number, path: name, size }]);
    await eventually('ready', 20_000, async () => (await answersTo(number))[0]?.type === 'ready' || null);
    await sendBytes(number, part);
    await eventually('a part is written', 20_000, async () =>
      parts().some((file) => statSync(file).size > MIB) ? true : null,
    );
    return number;
  }

  /** Incomplete files anywhere below the home. */
  const parts = (): string[] => {
    // Follows no links, because some in the home are cyclic.
    const found = execFileSync('find', ['-P', home, '-name', '*.part'], { encoding: 'utf8' });
    return found.split('\n').filter((line) => line !== '');
  };
  const leavesNothing = (what: string) =>
    eventually(`no part after ${what}`, 20_000, async () => parts().length === 0 || null);

  /** Checks that no file outside the home was changed or read. */
  async function expectOutsideIntact(): Promise<void> {
    expect(readdirSync(outside).sort()).toEqual(['empty', 'secret']);
    expect(readdirSync(path.join(outside, 'empty'))).toEqual([]);
    expect(readFileSync(path.join(outside, 'secret'), 'utf8')).toBe(SECRET);
    expect(await page.evaluate(() => window.filesHeard.secret)).toBe(false);
    const asked = performance.now();
    expect((await fetch(stack.healthUrl)).status).toBe(200);
    expect(performance.now() - asked).toBeLessThan(1_000);
  }

  test.each([
    '../outside.txt',
    '..',
    '.',
    './note.txt',
    'Uploads/../../outside.txt',
    'Uploads//x',
    '/etc/passwd',
    '/proc/self/environ',
    'a\u0000b',
    'line\nbreak',
    TURNED,
    'x'.repeat(300),
    `${'d/'.repeat(100)}x`,
    'link-to-file',
    'link-to-folder',
    'link-to-folder/secret',
    'link-to-folder/empty',
    'link-to-itself/environ',
    'loop',
    'loop/x',
    'pipe/x',
    'device/x',
    'note.txt/x',
  ])('%j cannot be read, listed, written, deleted or renamed', async (name) => {
    const before = lstatSync(home).mtimeMs;
    const refused = await ask(
      { type: 'get', path: name },
      { type: 'list', path: name },
      { type: 'delete', path: name },
      { type: 'rename', path: name, name: 'renamed' },
      { type: 'mkdir', path: name },
    );
    for (const answer of refused) expect(answer, name).toMatchObject({ type: 'failed' });
    expect(lstatSync(home).mtimeMs).toBe(before);
    // The agent treats a link as an existing file, so it may store the upload under the name with a number added. All
    // other names must be refused.
    const [put] = await ask({ type: 'put', path: name, size: 1 });
    if (put?.type === 'ready') await send([{ type: 'cancel', id: put.id }]);
    if (!['link-to-file', 'link-to-folder', 'loop'].includes(name))
      expect(put, name).toMatchObject({ type: 'failed' });
    await leavesNothing('a refusal');
    await expectOutsideIntact();
  });

  test.each(['pipe', 'device'])('%s is neither opened nor deleted, and is refused at once', async (name) => {
    const [got, deleted, note] = await ask(
      { type: 'get', path: name },
      { type: 'delete', path: name },
      { type: 'get', path: 'note.txt' },
    );
    expect(got).toMatchObject({ type: 'failed', code: 'not_allowed' });
    expect(deleted).toMatchObject({ type: 'failed', code: 'not_allowed' });
    await eventually('the file after it is read', 20_000, async () => {
      const [end] = await answersTo(note?.id ?? 0);
      return end?.type === 'done' || null;
    });
    expect(existsSync(path.join(home, name))).toBe(true);
  });

  test('a name that is taken by a link gets a number, and the link is unchanged', async () => {
    const [begun] = await ask({ type: 'put', path: 'link-to-file', size: 3 });
    expect(begun).toMatchObject({ type: 'ready' });
    await sendBytes(begun?.id ?? 0, 3);
    await eventually('it is there', 20_000, async () => {
      const [end] = await answersTo(begun?.id ?? 0);
      return end?.type === 'done' ? end : null;
    }).then((end) => expect(end).toMatchObject({ path: 'link-to-file (2)' }));
    expect(lstatSync(path.join(home, 'link-to-file')).isSymbolicLink()).toBe(true);
    await expectOutsideIntact();
  });

  test('a file that is too large is not begun, and more bytes than announced end it', async () => {
    const [huge, put] = await ask(
      { type: 'get', path: 'huge' },
      { type: 'put', path: 'too large', size: 17 * MIB },
    );
    expect(huge).toMatchObject({ type: 'failed', code: 'too_large' });
    expect(put).toMatchObject({ type: 'failed', code: 'too_large' });
    const [begun] = await ask({ type: 'put', path: 'endless', size: 1000 });
    await sendBytes(begun?.id ?? 0, 2 * MIB);
    await eventually('it ends', 20_000, async () => {
      const [end] = await answersTo(begun?.id ?? 0);
      return end?.type === 'failed' ? end : null;
    }).then((end) => expect(end).toMatchObject({ code: 'too_large' }));
    await leavesNothing('an endless file');
    expect(existsSync(path.join(home, 'endless'))).toBe(false);
  });

  test('names that would mislead a person are not listed, and at most a thousand are listed', async () => {
    const [top, many] = await ask({ type: 'list', path: '' }, { type: 'list', path: 'many' });
    const names = top?.type === 'listing' ? top.entries.map(({ name }) => name) : [];
    expect(names).toContain('note.txt');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
    expect(names.filter((name) => /[\u0000-\u001f\u202a-\u202e\u2066-\u2069]/.test(name))).toEqual([]);
    expect(many).toMatchObject({ type: 'listing', truncated: true });
    expect(many?.type === 'listing' && many.entries.length).toBe(1000);
  });

  test('of forty at once four run and arrive completely, the others are refused', async () => {
    const all = await ask(
      ...Array.from({ length: 40 }, (_, n) => ({ type: 'put', path: `Uploads/at once ${n}`, size: MIB })),
    );
    const begun = all.flatMap((answer) => (answer?.type === 'ready' ? [answer.id] : []));
    expect(begun).toHaveLength(4);
    expect(all.filter((answer) => answer?.type === 'failed' && answer.code === 'busy')).toHaveLength(36);
    await Promise.all(begun.map((number) => sendBytes(number, MIB)));
    await eventually('all four', 20_000, async () =>
      (await answersTo(...begun)).every((answer) => answer?.type === 'done') ? true : null,
    );
    const arrived = readdirSync(path.join(home, 'Uploads')).filter((name) => name.startsWith('at once'));
    expect(arrived).toHaveLength(4);
    const { uid } = statSync(path.join(home, 'note.txt'));
    for (const name of arrived)
      expect(statSync(path.join(home, 'Uploads', name))).toMatchObject({ size: MIB, uid });
  });

  test('an app that replaces the folder by a link all the time moves no file out of the home', async () => {
    writeFileSync(path.join(home, 'race'), '');
    for (let round = 0; round < 40; round++) {
      const [begun] = await ask({ type: 'put', path: `Uploads/raced ${round}`, size: 4 });
      if (begun?.type !== 'ready') continue;
      await sendBytes(begun.id, 4);
      await eventually('its end', 20_000, async () => {
        const [end] = await answersTo(begun.id);
        return end?.type === 'done' || end?.type === 'failed' || null;
      });
      await ask({ type: 'list', path: 'Uploads' }, { type: 'get', path: 'Uploads/secret' });
    }
    rmSync(path.join(home, 'race'));
    await leavesNothing('the race');
    await expectOutsideIntact();
  });

  test('a cancelled transfer leaves nothing', async () => {
    const number = await putHalf('Uploads/cancelled');
    await send([{ type: 'cancel', id: number }]);
    await leavesNothing('a cancel');
    expect(existsSync(path.join(home, 'Uploads/cancelled'))).toBe(false);
  });

  test('nor does a closed page', async () => {
    await putHalf('Uploads/left');
    await page.goto('about:blank');
    await leavesNothing('the page left');
    expect(existsSync(path.join(home, 'Uploads/left'))).toBe(false);
    await open();
    await expectOutsideIntact();
  });

  test('nor does the end of the session', async () => {
    await putHalf('Uploads/ended');
    await sessions.stop(id);
    await leavesNothing('the end of the session');
    expect(existsSync(path.join(home, 'Uploads/ended'))).toBe(false);
    await page.close();
    rmSync(path.join(home, 'pipe'));
    rmSync(path.join(home, 'ready'));
    await watch();
  });

  test('nor does a killed agent', async () => {
    await putHalf('Uploads/orphan');
    await stack.agent.kill('SIGKILL');
    await leavesNothing('the agent was killed');
    expect(existsSync(path.join(home, 'Uploads/orphan'))).toBe(false);
    await stack.startAgent();
    expect(readdirSync(outside).sort()).toEqual(['empty', 'secret']);
  });
});
