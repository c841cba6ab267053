import { expect, test } from 'vitest';
import { bytesLabel } from './bytes-labels.ts';

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [999, '999 bytes'],
  [1_000, '1.0 kB'],
  [73_400_320, '73.4 MB'],
  [999_600_000, '1.0 GB'],
  [250_000_000_000, '250 GB'],
])('%i bytes are %s', (bytes, label) => {
  expect(bytesLabel(bytes)).toBe(label);
});
