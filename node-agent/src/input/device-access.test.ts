import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { grantDevice } from './device-access.ts';
import { physOf } from './gamepads.ts';

const ALICES = '11111111-1111-4111-8111-111111111111';
const BOBS = '22222222-2222-4222-8222-222222222222';
/** The user that runs the tests: making this user the owner of files needs no privilege. */
const UID = process.getuid?.() ?? 0;

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'device-access-'));
  mkdirSync(join(root, 'nodes'));
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function addDevice(sysname: string, phys: string, nodes: readonly string[]): void {
  for (const node of nodes) {
    mkdirSync(join(root, 'sysfs', sysname, node), { recursive: true });
    writeFileSync(join(root, 'nodes', node), '', { mode: 0o666 });
  }
  writeFileSync(join(root, 'sysfs', sysname, 'phys'), `${phys}\n`);
}

const grant = (sysname: string, sessionId: string) =>
  grantDevice(sysname, sessionId, UID, { sysfs: join(root, 'sysfs'), nodes: join(root, 'nodes') });

describe("a session's input devices", () => {
  test('only the session’s user can open the device nodes', () => {
    addDevice('input5', physOf(ALICES, 0), ['event9', 'js0']);
    const nodes = ['event9', 'js0'].map((name) => join(root, 'nodes', name));
    expect(grant('input5', ALICES).sort()).toEqual(nodes);
    for (const node of nodes) expect(statSync(node).mode & 0o777).toBe(0o600);
  });

  test("another session's device is not given, whatever a worker says", () => {
    addDevice('input5', physOf(BOBS, 0), ['event9']);
    expect(grant('input5', ALICES)).toEqual([]);
  });

  test("the host's own keyboard is not given", () => {
    addDevice('input0', 'usb-0000:00:14.0-1/input0', ['event0']);
    expect(grant('input0', ALICES)).toEqual([]);
  });

  test.each(['', '..', '../input5', 'input5/../input5', 'event9', 'input', 'input-1'])(
    'an invalid name grants nothing: %j',
    (sysname) => {
      addDevice('input5', physOf(ALICES, 0), ['event9']);
      expect(grant(sysname, ALICES)).toEqual([]);
    },
  );

  test('a removed device grants nothing', () => {
    expect(grant('input5', ALICES)).toEqual([]);
  });
});
