import { expect, test } from 'vitest';
import { accessCheck } from '../../../test/fixtures.ts';
import { linkBase } from './link-address.tsx';

const withAddresses = (ip_addresses: string[]) => ({
  certificate: { ...accessCheck.certificate, info: { ...accessCheck.certificate.info!, ip_addresses } },
});

test.each([
  ['https://play.lan:8443', ['192.0.2.9'], 'https://play.lan:8443', 'request'],
  [
    'https://localhost:8443',
    ['127.0.0.1', '::1', 'fd00::5', '192.0.2.9'],
    'https://192.0.2.9:8443',
    'machine',
  ],
  ['https://127.0.0.1', ['127.0.0.1', 'fd00::5'], 'https://[fd00::5]', 'machine'],
  ['https://[::1]:8443', ['::1'], 'https://[::1]:8443', 'request'],
])('a page at %s, a certificate for %j: links begin with %s', (origin, addresses, address, source) => {
  expect(linkBase(origin, withAddresses(addresses))).toEqual({ address, source });
});

test('without a certificate only the page’s own address is available', () => {
  expect(linkBase('http://localhost:8080', undefined)).toMatchObject({ source: 'request' });
});
