import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { turnServerConf } from './turn-server.mjs';

const shipped = readFileSync(
  path.resolve(import.meta.dirname, '../../deploy/coturn/turnserver.conf'),
  'utf8',
);
const wanted = {
  shipped,
  addresses: ['10.0.0.7', 'fd00::7'],
  secret: 'the-secret-of-this-instance',
  directory: '/data/turn',
  asRoot: true,
  tls: null,
};

describe('turnserver.conf of scripts/up --turn', () => {
  const lines = turnServerConf(wanted).split('\n');

  test('has the secret of the instance, and none of the example values', () => {
    expect(lines.filter((line) => line.startsWith('static-auth-secret='))).toEqual([
      'static-auth-secret=the-secret-of-this-instance',
    ]);
    expect(lines.join('\n')).not.toMatch(/example|letsencrypt|change-this/);
    for (const line of ['use-auth-secret', 'realm=footlight', 'no-cli', 'no-dtls', 'no-tls'])
      expect(lines).toContain(line);
  });

  test('relays to this machine only, of all internal addresses', () => {
    expect(lines.filter((line) => line.startsWith('allowed-peer-ip='))).toEqual([
      'allowed-peer-ip=10.0.0.7',
      'allowed-peer-ip=fd00::7',
    ]);
    for (const range of [
      '10.0.0.0-10.255.255.255',
      '127.0.0.0-127.255.255.255',
      '169.254.0.0-169.254.255.255',
      '172.16.0.0-172.31.255.255',
      '192.168.0.0-192.168.255.255',
      '224.0.0.0-255.255.255.255',
      '::1',
      'fc00::-fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
      'fe80::-febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
      'ff00::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
    ])
      expect(lines).toContain(`denied-peer-ip=${range}`);
  });

  test('has TLS only with a certificate', () => {
    const tls = { certFile: '/etc/cert.pem', keyFile: '/etc/key.pem' };
    const secure = turnServerConf({ ...wanted, tls }).split('\n');
    expect(secure).toEqual(
      expect.arrayContaining(['tls-listening-port=5349', 'cert=/etc/cert.pem', 'pkey=/etc/key.pem']),
    );
    expect(secure).not.toContain('no-tls');
  });
});
