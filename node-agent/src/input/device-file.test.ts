import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openDeviceFile, openDeviceFiles } from './device-file.ts';

/**
 * FIONREAD returns the number of bytes in a pipe. It is used here, because every machine supports this ioctl. Source:
 * ioctl_tty(2).
 */
const FIONREAD = 0x541b;
const ENOTTY = 25;

let dir: string;
let pipe: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'device-file-'));
  pipe = join(dir, 'pipe');
  execFileSync('mkfifo', [pipe]);
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe('device files', () => {
  test('write, ioctl with a buffer, and read reach the kernel', () => {
    const file = openDeviceFile(pipe);
    expect(file.read()).toBeNull();
    file.write(Buffer.from('events'));
    const waiting = Buffer.alloc(4);
    file.ioctl(FIONREAD, waiting);
    expect(waiting.readInt32LE(0)).toBe(6);
    expect(String(file.read())).toBe('events');
    file.close();
    file.close();
  });

  test('an ioctl that the kernel refuses throws with its errno', () => {
    const file = openDeviceFile(pipe);
    expect(() => file.ioctl(0x5501, 0)).toThrow(`ioctl 0x5501 failed, errno ${ENOTTY}`);
    file.close();
  });

  test('a missing device is a reason, not a failure', () => {
    const { files, problem } = openDeviceFiles(4, () => openDeviceFile(join(dir, 'missing')));
    expect(files).toEqual([]);
    expect(problem).toContain('ENOENT');
  });

  test('the requested number of files is opened', () => {
    const { files, problem } = openDeviceFiles(4, () => openDeviceFile(pipe));
    expect(files).toHaveLength(4);
    expect(problem).toBeNull();
    for (const file of files) file.close();
  });
});
