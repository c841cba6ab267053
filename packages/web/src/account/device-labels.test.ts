import { expect, test } from 'vitest';
import { deviceLabel } from './device-labels.ts';

test.each([
  [{ name: 'Living room', capabilities: {} }, 'Living room'],
  [
    { name: null, capabilities: { browser: { name: 'Firefox', version: '140' }, platform: 'Linux' } },
    'Firefox on Linux',
  ],
  [{ name: '', capabilities: { platform: 'Android' } }, 'Android'],
  [{ name: '  ', capabilities: { browser: 'odd', platform: 7 } }, 'Device abcdef'],
])('%j is called %s', (device, label) => {
  expect(deviceLabel({ device_key: 'abcdefgh', ...device } as never)).toBe(label);
});
