import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  encodeControl,
  encodeKey,
  encodeReleaseAll,
  encodeText,
  type KeyboardLayout,
} from '@footlight/protocol/input';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { NativeViewer } from '../testing/native-viewer.ts';
import { PRINTED, type PrintedKey, printedKeys } from '../testing/printed-keys.ts';
import { TestHost } from '../testing/test-host.ts';

/**
 * The long test run checks every key of every layout, in a terminal and in a text field. The short run checks two
 * layouts in a terminal.
 */
const long = process.env.FOOTLIGHT_LONG === '1';
const LAYOUTS = long ? Object.keys(PRINTED) : ['de', 'us intl'];
const SIZE = { width: 640, height: 480 };
/** evdev codes. */
const [KEY_Y, KEY_A, KEY_TAB, CONTROL, BACKSPACE, CAPS] = [21, 30, 15, 29, 14, 58];

let host: TestHost;
let windowManager: ChildProcess;
let app: ChildProcess | null = null;
let alice: NativeViewer;
let seq = 0;
let files = 0;

beforeAll(async () => {
  host = await TestHost.open(SIZE);
  const args = ['-display', host.display.name, '-use_titlebar', 'no', '-use_desktop_mode', 'plain'];
  windowManager = spawn('matchbox-window-manager', args, { stdio: 'ignore' });
});
beforeEach(async () => {
  seq = 0;
  const session = await host.session();
  await session.start({ fps: 60 });
  alice = await session.watch();
});
afterEach(async () => {
  const gone = app === null ? null : new Promise((resolve) => app?.once('exit', resolve));
  if (app?.pid !== undefined) process.kill(-app.pid, 'SIGKILL');
  await gone;
  app = null;
  // Released here, because the next test uses the same display, and a killed worker releases no keys.
  alice.send('input', encodeReleaseAll({ seq: ++seq, t: seq }));
  // Reset too, because the display keeps its keyboard map, but a session assumes the map of a new display.
  execFileSync('setxkbmap', ['-display', host.display.name, 'us']);
  const { desktop } = host;
  const held = () => desktop.request<Buffer>((callback) => desktop.client.QueryKeymap(callback));
  await expect.poll(async () => (await held()).some((bits) => bits !== 0), { timeout: 20_000 }).toBe(false);
  await host.clear();
});
afterAll(async () => {
  windowManager?.kill('SIGKILL');
  await host?.close();
});

function run(program: string, ...args: string[]): void {
  const env = {
    ...process.env,
    DISPLAY: host.display.name,
    LC_ALL: 'C.UTF-8',
    HOME: host.scratch,
    TMPDIR: host.scratch,
  };
  app = spawn(program, args, { env, stdio: 'ignore', detached: true });
}

/** Opens a terminal whose program writes its input to a file. @returns a function that reads this input */
async function openTerminal(): Promise<() => string> {
  const file = join(host.scratch, `typed-${files++}`);
  const script = `stty raw -echo; echo ready >${file}.ready; exec cat >${file}`;
  run('xterm', '-u8', '-fa', 'DejaVu Sans Mono', '-e', '/bin/sh', '-c', script);
  await expect.poll(() => read(`${file}.ready`), { timeout: 20_000 }).toBe('ready\n');
  return () => read(file);
}

/** Opens a text field in a browser. Its page shows the text as the title of the window. */
async function openField(): Promise<() => Promise<string>> {
  const page = `<title>ready:</title><textarea autofocus style="width:100%;height:100%"></textarea><script>
    const field = document.querySelector('textarea');
    field.oninput = () => { document.title = 'ready:' + field.value; };
  </script>`;
  run(
    'chromium',
    ...['--no-sandbox', '--no-first-run', '--disable-gpu', '--ozone-platform=x11', '--password-store=basic'],
    ...[`--user-data-dir=${join(host.scratch, `profile-${files++}`)}`, `--app=data:text/html,${page}`],
  );
  const titles = () =>
    alice.control.findLast((message) => message.type === 'windows')?.windows.map(({ title }) => title) ?? [];
  const text = async () =>
    titles()
      .find((title) => title.startsWith('ready:'))
      ?.slice(6) ?? 'not open';
  await expect.poll(text, { timeout: 60_000 }).toBe('');
  return text;
}

const read = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};

function key(code: number, down: boolean): void {
  alice.send('input', encodeKey({ seq: ++seq, t: seq, code, down, locks: 0 }));
}

function press(codes: readonly number[]): void {
  for (const code of codes) key(code, true);
  for (const code of [...codes].reverse()) key(code, false);
}

function typeKey({ codes, letter }: PrintedKey): void {
  press(codes);
  if (letter !== null) press([letter]);
}

const named = (name: string): KeyboardLayout => {
  const [layout = '', variant = null] = name.split(' ');
  return { layout, variant };
};

/** Chooses a layout. @returns the layout that the display uses afterwards */
async function choose(layout: KeyboardLayout): Promise<KeyboardLayout | undefined> {
  const told = () => alice.control.filter((message) => message.type === 'keyboard_layout');
  const before = told().length;
  alice.send('control', encodeControl({ type: 'keyboard_layout', ...layout }));
  await alice.until('an answer', () => told().length > before);
  const answer = told().at(-1);
  return answer && { layout: answer.layout, variant: answer.variant };
}

describe('a chosen keyboard layout', () => {
  test.each(LAYOUTS)(
    '%s: a terminal gets the characters printed on the keys',
    async (name) => {
      const typed = await openTerminal();
      expect(await choose(named(name))).toEqual(named(name));
      const keys = printedKeys(name);
      expect(keys.length).toBeGreaterThanOrEqual(94);
      let wanted = '';
      for (let at = 0; at < keys.length; at += 12) {
        const row = keys.slice(at, at + 12);
        for (const each of row) typeKey(each);
        wanted += row.map(({ character }) => character).join('');
        await expect
          .poll(typed, { timeout: 20_000, message: row.map((each) => each.name).join(' ') })
          .toBe(wanted);
      }
    },
    60_000,
  );

  test.runIf(long).each(LAYOUTS)(
    '%s: a text field of a browser gets them too',
    async (name) => {
      const typed = await openField();
      expect(await choose(named(name))).toEqual(named(name));
      // Split, because a window title is cut at 128 bytes.
      const keys = printedKeys(name);
      for (let at = 0; at < keys.length; at += 12) {
        const row = keys.slice(at, at + 12);
        for (const each of row) typeKey(each);
        const wanted = row.map(({ character }) => character).join('');
        await expect.poll(typed, { timeout: 20_000 }).toBe(wanted);
        press([CONTROL, ...(keys.find(({ character }) => character === 'a')?.codes ?? [])]);
        press([BACKSPACE]);
        await expect.poll(typed, { timeout: 20_000 }).toBe('');
      }
    },
    120_000,
  );

  test('applies to the next key, and typed text is right in every layout', async () => {
    const typed = await openTerminal();
    expect(await choose({ layout: 'de', variant: null })).toEqual({ layout: 'de', variant: null });
    press([KEY_Y]);
    alice.send('input', encodeText({ seq: ++seq, t: seq, text: 'zyß@漢🂡' }));
    press([KEY_Y]);
    await expect.poll(typed).toBe('zzyß@漢🂡z');
    await choose({ layout: 'fr', variant: null });
    press([KEY_A]);
    alice.send('input', encodeText({ seq: ++seq, t: seq, text: 'a漢' }));
    await expect.poll(typed).toBe('zzyß@漢🂡zqa漢');
  }, 30_000);

  test.each([
    ['an unknown one', { layout: 'xx', variant: null }],
    ['an unknown variant', { layout: 'de', variant: 'none_of_them' }],
    ['a part of a map that is no layout', { layout: 'inet', variant: null }],
    ['one that would break out of the description', { layout: 'us)+inet(evdev', variant: null }],
    ['one that names another file', { layout: '../../../etc/passwd', variant: null }],
    ['a variant with a quote', { layout: 'us', variant: 'intl"};' }],
    ['an empty name', { layout: '', variant: '' }],
  ])(
    '%s is refused, and the map stays',
    async (_what, layout) => {
      const typed = await openTerminal();
      await choose({ layout: 'fr', variant: null });
      expect(await choose(layout)).toEqual({ layout: 'fr', variant: null });
      await alice.until('the error', () => alice.control.some((message) => message.type === 'error'));
      expect(alice.control.findLast((message) => message.type === 'error')).toMatchObject({
        code: 'keyboard_layout_unknown',
      });
      press([KEY_A]);
      await expect.poll(typed).toBe('q');
    },
    30_000,
  );

  test('does not change a held key and the locks of the display', async () => {
    const window = await host.openWindow();
    press([CAPS]);
    key(KEY_TAB, true);
    await choose({ layout: 'de', variant: null });
    key(KEY_TAB, false);
    await alice.until(
      'both',
      () => window.events.filter(({ keycode }) => keycode === KEY_TAB + 8).length === 2,
    );
    alice.send('input', encodeKey({ seq: ++seq, t: seq, code: KEY_A, down: true, locks: 1 }));
    alice.send('input', encodeKey({ seq: ++seq, t: seq, code: KEY_A, down: false, locks: 1 }));
    await alice.until('the letter', () => window.events.some(({ keycode }) => keycode === KEY_A + 8));
    const [letter] = window.events.filter(({ keycode }) => keycode === KEY_A + 8);
    expect((letter?.buttons ?? 0) & 2).toBe(2);
    press([CAPS]);
    await choose({ layout: 'us', variant: null });
  }, 30_000);
});
