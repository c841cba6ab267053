import type { AccessCheck } from '@footlight/protocol/rest';
import { expect, test } from 'vitest';
import { accessCheck } from '../../../test/fixtures.ts';
import { certificateFindings } from './certificate-findings.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;
const NOW_MS = Date.parse('2026-06-02T12:00:00.000Z');

/** The access check of a certificate that ends after this number of days. */
function ending(days: number, part: Partial<AccessCheck['certificate']> = {}): AccessCheck {
  const info = {
    ...accessCheck.certificate.info!,
    source: 'provided' as const,
    not_after: new Date(NOW_MS + days * DAY_MS).toISOString(),
    days_until_expiry: Math.trunc(days),
  };
  return { ...accessCheck, certificate: { ...accessCheck.certificate, info, ...part } };
}

test.each([
  [14, []],
  [13.9, [['warning', 'The certificate expires in 13 days']]],
  [1.5, [['warning', 'The certificate expires in 1 day']]],
  [0.5, [['warning', 'The certificate expires in 1 day']]],
  [-0.5, [['danger', 'The certificate has expired']]],
  [-30, [['danger', 'The certificate has expired']]],
] as const)('a certificate that ends in %d days', (days, expected) => {
  expect(certificateFindings(ending(days), NOW_MS).map(({ tone, title }) => [tone, title])).toEqual(expected);
});

test('the remedy depends on who made the certificate', () => {
  const textOf = (check: AccessCheck) => certificateFindings(check, NOW_MS).map(({ text }) => text);
  expect(textOf(ending(1))).toEqual([expect.stringMatching(/No restart/)]);
  const generated = ending(1);
  generated.certificate.info!.source = 'self_signed';
  expect(textOf(generated)).toEqual([expect.stringMatching(/cert\.pem/)]);
});

test.each([
  ['the check was not read', undefined],
  ['a proxy has the certificate', ending(1, { in_use: false })],
  ['TLS is off', ending(1, { in_use: false, info: undefined })],
] as const)('nothing is said if %s', (_what, check) => {
  expect(certificateFindings(check, NOW_MS)).toEqual([]);
});
