import { expect, test } from 'vitest';
import { appDevices } from './process.ts';
import { mountOptions } from './sandbox.ts';

const MOUNTS = {
  ...{ tmpBytes: 1_000, passwd: '/s/passwd', group: '/s/group', resolver: null, keep: [], covered: [] },
  ...{ devices: [], hidden: [], own: [], replaced: [] },
};

test('a sandbox has its own places that every user may write to', () => {
  const line = mountOptions({ ...MOUNTS, own: ['/var/tmp', '/run/lock', '/dev/mqueue'] }).join(' ');
  for (const path of ['/tmp', '/var/tmp', '/dev/shm', '/run/lock'])
    expect(line).toMatch(new RegExp(`--size \\d+ --perms 1777 --tmpfs ${path}( |$)`));
  expect(line).toContain('--mqueue /dev/mqueue');
});

test('what lies below its own /tmp is put back after it', () => {
  const line = mountOptions({ ...MOUNTS, keep: ['/tmp/.X11-unix/X1'] }).join(' ');
  expect(line.indexOf('--bind /tmp/.X11-unix/X1')).toBeGreaterThan(line.indexOf('--tmpfs /tmp'));
});

test('the other homes of a person are hidden, and so is what the host stores by user id', () => {
  const line = mountOptions({
    ...{ ...MOUNTS, covered: ['/homes/alice'], keep: ['/homes/alice/one'], hidden: ['/var/crash'] },
  }).join(' ');
  expect(line).toMatch(/--tmpfs \/homes\/alice .*--bind \/homes\/alice\/one \/homes\/alice\/one$/);
  expect(line).toContain('--tmpfs /var/crash --remount-ro /var/crash');
});

test('devices of GPUs, input and sound exist, disks and terminals do not', () => {
  const names = [
    'sda',
    'dri',
    'kmsg',
    'nvidia0',
    'nvidiactl',
    'input',
    'snd',
    'tty1',
    'uinput',
    'kvm',
    'video0',
  ];
  expect(appDevices(names)).toEqual(
    ['dri', 'nvidia0', 'nvidiactl', 'input', 'snd', 'video0'].map((name) => `/dev/${name}`),
  );
});
