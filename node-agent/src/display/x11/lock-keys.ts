/** Lock keys: bit in messages to the viewer, and evdev code. */
export const LOCK_KEYS = [
  { bit: 1, code: 58 },
  { bit: 2, code: 69 },
  { bit: 4, code: 70 },
] as const;
