import { expect, test } from 'vitest';
import { decideEncoderBudget, type HostEncoder } from './encoder-budget.ts';

const software: HostEncoder = { family: 'openh264', mpixelS: 400, slots: 4, fewestSlots: 4 };
const hardware: HostEncoder = { family: 'nvenc', mpixelS: 2_000, slots: 16, fewestSlots: 8 };

test.each<[string, readonly HostEncoder[], number | null]>([
  ['no host: not known', [], null],
  ['software: half of the share of a slot', [software], 50],
  ['software on several GPUs: they share the CPU', [{ ...software, slots: 8 }], 25],
  ['hardware: the share of a slot of one GPU', [hardware], 250],
  ['the best host counts', [software, hardware], 250],
  ['one that was not measured: not known', [software, { ...hardware, mpixelS: null }], null],
  ['0 counts as not measured', [{ ...software, mpixelS: 0 }], null],
])('the encoder budget of a session: %s', (_what, hosts, budget) => {
  expect(decideEncoderBudget(hosts)).toBe(budget);
});
