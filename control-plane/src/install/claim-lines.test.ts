import { expect, test } from 'vitest';
import { loadConfig } from '../platform/config/config.ts';
import { claimLines } from './claim-lines.ts';

test.each([
  [{}, ['fd00::7', '192.0.2.7'], 'https://192.0.2.7:8443/setup'],
  [{ SERVICE_TLS: 'off', LISTEN_ADDR: ':8081' }, ['192.0.2.7'], 'http://192.0.2.7:8081/setup'],
  [{ PUBLIC_BASE_URL: 'https://play.example.org' }, ['192.0.2.7'], 'https://play.example.org/setup'],
  [{}, [], 'https://localhost:8443/setup'],
])('the first account of %j on %j is created at %s', (variables, own, address) => {
  const lines = claimLines(loadConfig(variables), own);
  expect(lines[0]).toContain(`Open ${address} in a browser`);
  expect(lines[1]).toBe('  sudo cat /run/service/setup-token');
});
