import { closeSync, constants, openSync, readdirSync, rmSync } from 'node:fs';
import { chown, mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, delay, within } from '@footlight/platform';
import type { DisplayRecord } from '../display/display-number.ts';
import type { HelperDeps, HelperOptions } from '../display/helper.ts';
import { type Display, startXServer } from '../display/xvfb.ts';
import { isAllowed } from '../linux/access.ts';
import { asSessionUser, baseEnvironment } from '../runtime/confinement/command-line.ts';
import { LogRing } from '../runtime/log-ring.ts';
import { SESSION_VARIABLE } from '../runtime/proc-table.ts';
import { type Child, type ChildExit, startChild } from '../runtime/programs/child.ts';
import type { ConsoleScreens } from './host-console.ts';
import type { ChosenOutput } from './output-choice.ts';
import { restoreTerminal } from './terminal.ts';

/** Weston without a seat manager draws on a virtual terminal. Only root may open a virtual terminal. */
const TERMINAL = 7;
const TERMINAL_DEVICE = `/dev/tty${TERMINAL}`;
const SOCKET = 'wayland';
/**
 * The same limit as for Xvfb (display/xvfb.ts). It applies to weston's start and then to Xwayland's. Each poll calls
 * stat(2) once.
 */
const START_LIMIT_MS = 10_000;
const POLL_MS = 20;
const STOP_LIMIT_MS = 500;
const PROGRAMS = ['/usr/bin/weston', '/usr/bin/Xwayland'];

/** Where weston draws: a connector, or a substitute of tests. */
export interface Canvas {
  /** Command line options of this output. */
  words(output: ChosenOutput): string[];
  /** Whether weston reads input devices of this host. */
  readonly readsDevices: boolean;
  /** Releases resources that a killed weston left. Never throws. */
  reclaim(): void;
}

/**
 * Draws with weston on a connector. An Xwayland inside fills the output, so apps, capture and input use an X display as
 * in other sessions. Weston runs as the agent's user, Xwayland as the session's user.
 *
 * @param canvas replaced by tests
 * Source: weston(1), weston-drm(7), weston.ini(5), as of weston 10; Xwayland(1).
 */
export function westonScreens(canvas: Canvas = CONNECTOR): ConsoleScreens {
  return {
    lacks() {
      const cards = cardsWithConnectors();
      if (cards.length === 0) return 'connector';
      if (process.getuid?.() !== 0) return 'root';
      if (!PROGRAMS.every((path) => isAllowed(path, constants.X_OK))) return 'programs';
      if (!cards.some((card) => mayOpen(`/dev/dri/${card}`))) return 'card';
      return mayOpen(TERMINAL_DEVICE) ? null : 'terminal';
    },
    async open(output, options, cookie, deps) {
      const weston = await startWeston(output, canvas, options, deps);
      try {
        const env = { WAYLAND_DISPLAY: weston.socket };
        const x = await startXServer(['Xwayland'], env, options, cookie, deps);
        await x.answers.catch(async (error) => {
          await x.close();
          throw error;
        });
        // Xwayland is connected, so the socket of weston is removed. Apps run as Xwayland's user and must not connect
        // to weston, which runs as root.
        rmSync(weston.socket, { force: true });
        return new WestonDisplay(weston.child, x, canvas.readsDevices, () =>
          end(weston.child, canvas, deps.clock),
        );
      } catch (error) {
        await end(weston.child, canvas, deps.clock);
        throw error;
      }
    },
    reclaim: () => canvas.reclaim(),
  };
}

const CONNECTOR: Canvas = {
  words: ({ card }) => [
    '--backend=drm-backend.so',
    `--drm-device=${card}`,
    `--tty=${TERMINAL}`,
    '--continue-without-input',
  ],
  readsDevices: true,
  reclaim: () => restoreTerminal(TERMINAL_DEVICE),
};

function cardsWithConnectors(): string[] {
  try {
    const names = readdirSync('/sys/class/drm');
    return [...new Set(names.flatMap((name) => /^(card\d+)-/.exec(name)?.[1] ?? []))];
  } catch {
    return [];
  }
}

/** Opens the device, because only that shows whether the service's unit denies access to it. */
function mayOpen(device: string): boolean {
  try {
    closeSync(openSync(device, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK));
    return true;
  } catch {
    return false;
  }
}

/** Configuration of weston for one output in one mode, without timeouts or decorations. */
export function westonConfig({ connector, mode, others }: ChosenOutput): string {
  // Weston distinguishes refresh rates only in whole hertz.
  const wanted =
    mode === null ? 'preferred' : `${mode.width}x${mode.height}@${Math.round(mode.refresh_millihz / 1_000)}`;
  return [
    '[core]\nidle-time=0\n',
    `[output]\nname=${connector}\nmode=${wanted}\n`,
    ...others.map((name) => `[output]\nname=${name}\nmode=off\n`),
  ].join('\n');
}

async function startWeston(
  output: ChosenOutput,
  canvas: Canvas,
  { sessionId, user, dirs, ended }: HelperOptions,
  deps: HelperDeps,
): Promise<{ child: Child; socket: string }> {
  // Not a directory of the session's user, because weston runs as root and trusts the files in its directory.
  const dir = dirs.console;
  await mkdir(dir, { mode: 0o711 });
  const config = join(dir, 'weston.ini');
  await writeFile(config, westonConfig(output), { mode: 0o600 });
  const log = new LogRing(64 * 1024);
  const child = await startChild(
    asSessionUser(null, [
      'weston',
      ...canvas.words(output),
      ...['--shell=kiosk-shell.so', `--config=${config}`, `--socket=${SOCKET}`],
    ]),
    {
      env: { ...baseEnvironment(deps.env), HOME: dir, XDG_RUNTIME_DIR: dir, [SESSION_VARIABLE]: sessionId },
      // Weston's key shortcuts on the host's keyboard can write files into this directory. It is deleted with the
      // session.
      cwd: dir,
      clock: deps.clock,
      onOutput: (chunk) => log.add(chunk),
    },
  );
  const socket = join(dir, SOCKET);
  if (await isListening(socket, child, ended, deps.clock)) {
    if (user !== null) await chown(socket, user.uid, user.gid);
    return { child, socket };
  }
  await end(child, canvas, deps.clock);
  throw new Error(`weston did not start: ${log.tail(3, 400) || 'it gave no reason'}`);
}

/** Weston creates its socket only after the output shows a picture. */
async function isListening(socket: string, child: Child, ended: AbortSignal, clock: Clock): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < START_LIMIT_MS && child.alive && !ended.aborted; waitedMs += POLL_MS) {
    const found = await stat(socket).catch(() => null);
    if (found !== null) return true;
    await delay(clock, POLL_MS);
  }
  return false;
}

async function end(weston: Child, canvas: Canvas, clock: Clock): Promise<void> {
  // On SIGTERM, weston restores the terminal and the connector.
  weston.signal('SIGTERM');
  await within(clock, STOP_LIMIT_MS, weston.exited, undefined);
  weston.signal('SIGKILL');
  // If weston was not killed, it has restored the terminal, and another program may use the terminal now. So only a
  // killed weston is cleaned up.
  if ((await weston.exited).signal !== null) canvas.reclaim();
}

/** A weston and the Xwayland inside it, as one display. Teardown order: Xwayland, then weston. */
class WestonDisplay implements Display {
  readonly number: number;
  readonly name: string;
  readonly socket: string;
  readonly cookie: Buffer;
  readonly record: DisplayRecord;
  readonly readsDevices: boolean;
  readonly answers: Promise<void>;
  readonly exited: Promise<ChildExit>;
  readonly #x: Display;
  readonly #endWeston: () => Promise<void>;

  constructor(weston: Child, x: Display, readsDevices: boolean, endWeston: () => Promise<void>) {
    this.number = x.number;
    this.name = x.name;
    this.socket = x.socket;
    this.cookie = x.cookie;
    this.record = x.record;
    this.readsDevices = readsDevices;
    this.answers = x.answers;
    this.exited = Promise.race([x.exited, weston.exited]);
    this.#x = x;
    this.#endWeston = endWeston;
  }

  onSilent(listener: () => void): void {
    this.#x.onSilent(listener);
  }

  async close(): Promise<void> {
    await this.#x.close();
    await this.#endWeston();
  }
}
