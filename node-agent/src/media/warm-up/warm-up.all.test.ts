import { readFileSync } from 'node:fs';
import { initialise } from '@footlight/gst';
import { expect, test } from 'vitest';
import { warmUp } from './warm-up.ts';

test('the libraries of a session are in memory afterwards, and no display or sound server was used', async () => {
  initialise();
  const { DISPLAY, PULSE_SERVER } = process.env;
  process.env.DISPLAY = ':54321';
  process.env.PULSE_SERVER = 'unix:/nowhere';
  try {
    await warmUp();
  } finally {
    for (const [name, value] of Object.entries({ DISPLAY, PULSE_SERVER })) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
  const maps = readFileSync('/proc/self/maps', 'utf8');
  for (const plugin of [
    'gstximagesrc',
    'gstvideoconvertscale',
    'gstopenh264',
    'gstrtp',
    'gstpulseaudio',
    'gstopus',
  ]) {
    expect(maps, plugin).toContain(plugin);
  }
});
