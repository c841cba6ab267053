import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { ConsoleCapabilities } from '@footlight/protocol/agent';
import { type DisplayTiming, readEdid } from './edid.ts';

/**
 * Displays, sound outputs and input devices for a console. Each call reads them again, because people plug and unplug
 * them.
 */
export interface Displays {
  read(): Promise<ConsoleCapabilities>;
}

type Output = ConsoleCapabilities['outputs'][number];

/** Bounds of `console_capabilities` in a capacity report (protocol, `capacity`). */
const MAX_OUTPUTS = 64;
const MAX_MODES = 256;
const MAX_SINKS = 64;
const MAX_DEVICES = 128;

/**
 * Reads displays, sound outputs and input devices from files of sysfs, procfs and udev, without opening a device.
 * Source: Documentation/gpu/drm-uapi.rst, Documentation/ABI and Documentation/sound/designs/procfile.rst of the kernel;
 * /dev/input/by-id of udev.
 * @param paths roots of the files; tests pass other roots
 */
export function linuxDisplays(
  paths = { drm: '/sys/class/drm', sound: '/proc/asound', inputs: '/dev/input/by-id' },
): Displays {
  return {
    async read() {
      const outputs = await outputsIn(paths.drm);
      return {
        connectors: [...new Set(outputs.map(({ connector }) => connector))],
        outputs,
        audio_sinks: await sinksIn(paths.sound),
        input_devices: await inputsIn(paths.inputs),
      };
    },
  };
}

/** Each connector is a directory next to its card's directory, for example card1-DP-4. */
async function outputsIn(drm: string): Promise<Output[]> {
  const names = await namesIn(drm);
  const connectors = names.filter((name) => /^card\d+-.+/.test(name)).slice(0, MAX_OUTPUTS);
  return Promise.all(
    connectors.map(async (name) => {
      const [, card = '', connector = ''] = /^(card\d+)-(.+)$/.exec(name) ?? [];
      const isConnected = (await textOf(join(drm, name, 'status'))) === 'connected';
      const modes = isConnected ? readEdid(await bytesOf(join(drm, name, 'edid'))) : [];
      return {
        id: `${card}:${connector}`,
        card,
        render_node: await renderNodeOf(drm, card),
        connector,
        connected: isConnected,
        // Always null: only the process that drives a card can read its current mode.
        active_mode: null,
        modes: modes.slice(0, MAX_MODES).map(named),
      };
    }),
  );
}

function named(timing: DisplayTiming): Output['modes'][number] {
  const suffix = timing.interlaced ? 'i' : '';
  return { name: `${timing.width}x${timing.height}${suffix}`, ...timing };
}

/** A card and its render node are entries of the same device directory. */
async function renderNodeOf(drm: string, card: string): Promise<string | null> {
  const node = (await namesIn(join(drm, card, 'device', 'drm'))).find((name) => name.startsWith('renderD'));
  return node === undefined ? null : `/dev/dri/${node}`;
}

/**
 * Playback devices by ALSA name. The name contains the card's name instead of its number, because the number can change
 * at a boot.
 */
async function sinksIn(sound: string): Promise<ConsoleCapabilities['audio_sinks']> {
  const cards = new Map<number, { id: string; label: string }>();
  for (const line of (await textOf(join(sound, 'cards'))).split('\n')) {
    const [, number, id = '', label = ''] = /^\s*(\d+) \[(\S+)\s*\]: .*? - (.+)$/.exec(line) ?? [];
    if (number !== undefined) cards.set(Number(number), { id, label });
  }
  const sinks: ConsoleCapabilities['audio_sinks'] = [];
  for (const line of (await textOf(join(sound, 'pcm'))).split('\n')) {
    const [, number, device, name] = /^(\d+)-(\d+): .*? : (.*?) : (?:.* : )?playback \d+/.exec(line) ?? [];
    const card = cards.get(Number(number));
    if (card === undefined) continue;
    const label = `${card.label}, ${name?.trim()}`.slice(0, 200);
    sinks.push({ id: `hw:CARD=${card.id},DEV=${Number(device)}`, label });
  }
  return sinks.slice(0, MAX_SINKS);
}

/** One entry per device node. A node with several names in udev is listed once. */
async function inputsIn(inputs: string): Promise<ConsoleCapabilities['input_devices']> {
  const found = new Map<string, string>();
  for (const name of (await namesIn(inputs)).filter((each) => /-event(-|$)/.test(each))) {
    const target = await readlink(join(inputs, name)).catch(() => null);
    if (target === null) continue;
    const path = `/dev/input/${basename(target)}`;
    if (!found.has(path)) found.set(path, labelOf(name));
  }
  return [...found].slice(0, MAX_DEVICES).map(([path, label]) => ({ path, label }));
}

/** "usb-Logitech_K120-event-kbd" as readable text. */
function labelOf(name: string): string {
  const words = name
    .replace(/^[a-z]+-/, '')
    .replace(/-event(-\w+)?$/, '')
    .replaceAll('_', ' ');
  return words.slice(0, 200) || name.slice(0, 200);
}

async function namesIn(directory: string): Promise<string[]> {
  return (await readdir(directory).catch(() => [])).sort();
}

async function textOf(path: string): Promise<string> {
  return (await readFile(path, 'utf8').catch(() => '')).trim();
}

async function bytesOf(path: string): Promise<Uint8Array> {
  return readFile(path).catch(() => new Uint8Array());
}
