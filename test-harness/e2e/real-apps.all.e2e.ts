import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBrowser } from '../src/browser/chromium.ts';
import { framesShown } from '../src/browser/picture.ts';
import { signIn } from '../src/browser/sign-in.ts';
import { toneAboveNeighbours } from '../src/browser/sound.ts';
import type { FakeViewer } from '../src/fake-viewer/index.ts';
import { eventually, PATIENCE_MS } from '../src/stack/program.ts';
import { PersonSessions } from '../src/stack/sessions.ts';
import { type Stack, startStack } from '../src/stack/stack.ts';

/**
 * Long form: ten programs of Debian, which `scripts/test --long` installs. Short form: two programs that every test
 * machine has.
 */
const long = process.env.FOOTLIGHT_LONG === '1';
const STREAM = { width: 1280, height: 720, fps: 30, bitrate_kbps: 4000 };
const DRAW_MS = 60_000;
const CHANGE_MS = 15_000;
const TONE_HZ = 440;

interface RealApp {
  name: string;
  /** @param directory a directory that every session can read */
  args: (directory: string) => string[];
  /** Uses the app with keys. */
  keys: (viewer: FakeViewer) => void;
  /** Uses the app with the pointer. */
  pointer: (viewer: FakeViewer) => void;
  /** Ends the app with its own menu or key. */
  exit: (viewer: FakeViewer) => void;
  /**
   * A file that the app stores in its home at the first launch, and that must exist at the second launch. null: the app
   * stores a file only on request.
   */
  kept: string | null;
  /** Size of the app's display; missing: the size of the stream. */
  display?: { width: number; height: number };
  sound?: true;
  /** The app has its own sandbox, which needs user namespaces. */
  ownSandbox?: true;
}

/**
 * Types and saves a text. A GTK app then stores a list of recent files in its home, and a Qt app the state of its
 * window.
 */
const EDITOR_KEYS = (viewer: FakeViewer) => {
  viewer.input.text('zwölf Boxkämpfer jagen Viktor\n');
  viewer.input.press('ControlLeft', 'KeyS');
};
/** Escape closes a menu that the pointer opened. Otherwise the menu would receive the following keys. */
const QUIT = (viewer: FakeViewer) => {
  viewer.input.press('Escape');
  viewer.input.press('ControlLeft', 'KeyQ');
};
/** A drag over text in a terminal selects the text. */
const SELECT = (viewer: FakeViewer) => {
  viewer.input.button(0, true, 0.006, 0.2);
  viewer.input.button(0, false, 0.4, 0.7);
};
const MENU = (viewer: FakeViewer) => viewer.input.click(0.02, 0.012);
const NOTE = 'note.txt';

const SHORT: RealApp[] = [
  {
    name: 'a terminal',
    args: () => ['xterm', '-fa', 'DejaVu Sans Mono'],
    keys: (viewer) => viewer.input.text('echo "kept" >kept.txt; seq 100\n'),
    pointer: SELECT,
    exit: (viewer) => viewer.input.text('exit\n'),
    kept: 'kept.txt',
  },
  {
    name: 'a terminal that a launcher starts and leaves',
    args: () => ['/bin/sh', '-c', 'xterm & exit 0'],
    keys: (viewer) => viewer.input.text('echo "kept" >kept.txt; seq 100\n'),
    pointer: SELECT,
    exit: (viewer) => viewer.input.text('exit\n'),
    kept: 'kept.txt',
  },
];

const LONG: RealApp[] = [
  {
    name: 'a GTK editor',
    args: () => ['/bin/sh', '-c', `exec mousepad "$HOME/${NOTE}"`],
    keys: EDITOR_KEYS,
    pointer: MENU,
    exit: QUIT,
    kept: NOTE,
  },
  {
    name: 'a GTK editor that a launcher starts and leaves',
    args: () => ['/bin/sh', '-c', `mousepad "$HOME/${NOTE}" & exit 0`],
    keys: EDITOR_KEYS,
    pointer: MENU,
    exit: QUIT,
    kept: NOTE,
  },
  {
    name: 'a Qt editor',
    args: () => ['/bin/sh', '-c', `exec featherpad "$HOME/${NOTE}"`],
    keys: EDITOR_KEYS,
    pointer: MENU,
    exit: QUIT,
    kept: NOTE,
  },
  {
    name: 'a browser with its own sandbox',
    args: (directory) => ['chromium', '--no-first-run', `file://${directory}/page.html`],
    keys: (viewer) => viewer.input.press('KeyA'),
    pointer: (viewer) => viewer.input.click(0.5, 0.6),
    exit: (viewer) => viewer.input.press('ControlLeft', 'ShiftLeft', 'KeyW'),
    kept: '.config/chromium',
    ownSandbox: true,
  },
  {
    name: 'a game in a window of a fixed size',
    args: () => ['/usr/games/neverball'],
    keys: (viewer) => viewer.input.press('ArrowDown'),
    pointer: (viewer) => viewer.input.moveTo(0.5, 0.45),
    exit: (viewer) => viewer.input.press('Escape'),
    kept: '.neverball',
    display: { width: 800, height: 600 },
  },
  {
    name: 'a player with sound',
    args: (directory) => [
      'mpv',
      '--force-window',
      '--osd-level=3',
      '--loop',
      '--no-config',
      `${directory}/tone.wav`,
    ],
    keys: (viewer) => viewer.input.press('KeyO'),
    pointer: (viewer) => viewer.input.moveTo(0.5, 0.9),
    exit: (viewer) => viewer.input.press('KeyQ'),
    kept: null,
    sound: true,
  },
  {
    name: 'a calculator',
    args: () => ['galculator'],
    keys: (viewer) => viewer.input.text('1+2345'),
    pointer: MENU,
    exit: QUIT,
    kept: null,
  },
  {
    name: 'a program that draws by OpenGL',
    args: () => ['glxgears'],
    keys: (viewer) => viewer.input.press('ArrowLeft'),
    pointer: (viewer) => viewer.input.moveTo(0.5, 0.5),
    exit: (viewer) => viewer.input.press('Escape'),
    kept: null,
  },
];

/** Smallest share of pixels that differ from a picture of one colour: a prompt with its cursor is enough. */
const DRAWN_SHARE = 0.0001;
/** Smallest share of different pixels between two pictures that count as different. */
const CHANGED_SHARE = 0.0005;

function differing(a: Buffer, b: (at: number) => number): number {
  let count = 0;
  for (let at = 0; at < a.length; at += 3) if (Math.abs((a[at] ?? 0) - b(at)) > 40) count++;
  return count / (a.length / 3);
}

function isDrawn({ rgb }: { rgb: Buffer }): boolean {
  const first = rgb[0] ?? 0;
  return differing(rgb, () => first) > DRAWN_SHARE;
}

/** Performs an action, and waits until the picture differs from the one before. */
async function changes(viewer: FakeViewer, act: () => void): Promise<void> {
  const before = (await viewer.picture()).rgb;
  act();
  await viewer.picture(({ rgb }) => differing(rgb, (at) => before[at] ?? 0) > CHANGED_SHARE, CHANGE_MS);
}

describe.runIf(process.getuid?.() === 0)('a program of Debian', () => {
  let stack: Stack;
  let sessions: PersonSessions;
  let token: string;

  beforeAll(async () => {
    stack = await startStack({ agentEnv: { SERVICE_ENCODE_SLOTS: '2' } });
    token = (await stack.claim()).token;
    sessions = new PersonSessions(stack, token);
    writeFileSync(path.join(stack.directory, 'apps', 'tone.wav'), tone(), { mode: 0o644 });
    writeFileSync(path.join(stack.directory, 'apps', 'page.html'), PAGE, { mode: 0o644 });
  });

  afterAll(async () => {
    await sessions?.close();
    await stack?.stop();
  });

  const homes = () => path.join(stack.directory, 'agent', 'homes');
  /** True if the home of any app contains the file. */
  const isKept = (file: string) =>
    readdirSync(homes()).some((person) =>
      readdirSync(path.join(homes(), person)).some((app) =>
        existsSync(path.join(homes(), person, app, file)),
      ),
    );

  test.each(long ? [...SHORT, ...LONG] : SHORT)('$name', { timeout: 300_000 }, async (app) => {
    const runtime_spec = {
      args: app.args(path.join(stack.directory, 'apps')),
      ...(app.ownSandbox ? { systempaths_unconfined: true } : {}),
    };
    const id = await sessions.app(app.name, null, {}, { managed_home: true, runtime_spec });
    for (const launch of ['first', 'second']) {
      if (launch === 'second' && app.kept !== null) expect(isKept(app.kept)).toBe(true);
      const session = await sessions.launch(id, STREAM);
      await sessions.reaches(session.id, 'app presented', DRAW_MS);
      let viewer = await sessions.watch(session.id, { decode: true });
      try {
        await viewer.picture(isDrawn, DRAW_MS);
        if (app.display) {
          const { width, height } = app.display;
          await eventually('the display has the size of the window', PATIENCE_MS, async () => {
            const told = viewer.controls.findLast((message) => message.type === 'display');
            return (
              (told?.type === 'display' && told.render_width === width && told.render_height === height) ||
              null
            );
          });
        }
        await changes(viewer, () => app.keys(viewer));
        await changes(viewer, () => app.pointer(viewer));
        if (app.sound && launch === 'first') {
          await hears(session.id);
          // The page has taken over the session, so the viewer of the test must attach again.
          viewer = await sessions.watch(session.id);
        }
        app.exit(viewer);
        expect(await sessions.ended(session.id, 20_000)).toMatchObject({
          state: 'stopped',
          end_reason: 'app_exited',
        });
      } finally {
        await viewer.close();
        await sessions.stop(session.id);
      }
    }
  });

  async function hears(id: string): Promise<void> {
    const browser = await startBrowser();
    try {
      const page = await browser.newPage();
      await signIn(page, token);
      await page.goto(`${stack.httpsUrl}/app/session/${id}`);
      await eventually(
        'the page shows the session',
        PATIENCE_MS,
        async () => (await framesShown(page)) > 0 || null,
      );
      const heard = await toneAboveNeighbours(page, { hz: TONE_HZ, decibels: 20, limitMs: 20_000 });
      expect(heard).toMatchObject({ found: true });
    } finally {
      await browser.close();
    }
  }

  test.runIf(long)('that asks the desktop portal is answered, and its dialog is shown', async () => {
    const portal =
      'gdbus call --session --dest org.freedesktop.portal.Desktop --object-path /org/freedesktop/portal/desktop --method org.freedesktop.portal.FileChooser.OpenFile';
    const script = `${portal} "" "choose a file" "{}" && sleep 2 && xwininfo -root -tree && sleep 600`;
    const id = await sessions.app('Portal', ['/bin/sh', '-c', script]);
    const session = await sessions.launch(id, STREAM);
    // The app itself has no window, so "app presented" means that the portal's dialog is shown.
    await sessions.reaches(session.id, 'app presented', DRAW_MS);
    await sessions.stop(session.id);
  });
});

const PAGE = `<!doctype html><title>A page</title><style>body{background:#fff;font-size:60px}</style>
<body>A page<script>
const colours = ['#0c0', '#f60', '#00c', '#f0c'];
let turn = 0;
const next = () => { document.body.style.background = colours[turn++ % 4]; };
addEventListener('keydown', next);
addEventListener('mousedown', next);
</script>`;

/** Two seconds of a tone, as a RIFF file of 16 bit samples. */
function tone(): Buffer {
  const [rate, seconds] = [48_000, 2];
  const samples = Buffer.alloc(rate * seconds * 2);
  for (let index = 0; index < rate * seconds; index++) {
    samples.writeInt16LE(Math.round(12_000 * Math.sin((2 * Math.PI * TONE_HZ * index) / rate)), 2 * index);
  }
  const header = Buffer.alloc(44);
  header.write('RIFF');
  header.writeUInt32LE(36 + samples.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]);
}
