import { describe, expect, test } from 'vitest';
import { decideRestore, restoreSteps } from './service-restore.ts';
import { serviceRunWords } from './service-run.ts';

const SERVICE = {
  file: '/var/lib/service-control/control.db',
  isRoot: true,
  isSystemd: true,
  isServiceFolder: true,
};

describe('who restores a SQLite database', () => {
  test.each([
    ['the database of the service: its user', {}, 'as_service'],
    ['a database elsewhere', { file: '/srv/footlight/control.db' }, 'as_owner'],
    ['a folder whose name begins like it', { file: '/var/lib/service-control-2/control.db' }, 'as_owner'],
    ['data of ./scripts/up, which systemd did not make', { isServiceFolder: false }, 'as_owner'],
    ['a machine without systemd', { isSystemd: false }, 'as_owner'],
    ['the user of the service itself', { isRoot: false }, 'as_owner'],
  ])('%s', (_, facts, way) => {
    expect(decideRestore({ ...SERVICE, ...facts })).toBe(way);
  });

  test('a program runs as the user of the service, in its directory', () => {
    const words = serviceRunWords(['A=b'], ['/bin/true', '-x']);
    expect(words.slice(-3)).toEqual(['--property=A=b', '/bin/true', '-x']);
    for (const property of ['DynamicUser=yes', 'User=footlight-control', 'StateDirectory=service-control'])
      expect(words).toContain(`--property=${property}`);
  });
});

test('the next steps name what a backup does not contain', () => {
  const steps = restoreSteps({ certificates: '/data/tls', pictures: '/data/artwork' });
  for (const part of [
    '/data/tls',
    '/data/artwork',
    'SERVICE_SECRET_KEY',
    'systemctl start footlight-control',
  ])
    expect(steps).toContain(part);
  expect(restoreSteps({ certificates: null, pictures: '/data/artwork' })).not.toContain('certificate');
});
