import { rootCertificates } from 'node:tls';
import { expect, test } from 'vitest';
import { isPlainRemote, trustedCertificates } from './dial.ts';

test.each([
  ['http://control.example:8080', true],
  ['http://10.0.0.7:8080', true],
  ['http://127.0.0.1:8080', false],
  ['http://[::1]:8080', false],
  ['http://localhost:8080', false],
  ['https://control.example:8443', false],
])('%s is plain and remote: %s', (url, remote) => {
  expect(isPlainRemote(new URL(url))).toBe(remote);
});

test('a certificate is trusted for Node’s own list, the system’s and SERVICE_CONTROL_CA', () => {
  expect(trustedCertificates('ours', 'the system’s')).toEqual([...rootCertificates, 'the system’s', 'ours']);
  expect(trustedCertificates(null, null)).toEqual(rootCertificates);
});
