import { linkSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { leftSessions, makeSessionDirs, STATE_DIR_BYTES, sessionDirs, writeRecord } from './record.ts';

test('a session’s directory name contains its session id, for any id', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'footlight-record-'));
  try {
    await fc.assert(
      fc.asyncProperty(fc.uuid(), async (id) => {
        const dirs = sessionDirs(stateDir, id);
        await makeSessionDirs(dirs, null);
        expect((await leftSessions(stateDir)).map((left) => left.sessionId)).toEqual([id]);
        rmSync(dirs.root, { recursive: true });
      }),
      { numRuns: 20 },
    );
  } finally {
    rmSync(stateDir, { recursive: true });
  }
});

test('the sound server’s socket can be bound below the longest state directory that is allowed', () => {
  const stateDir = `/${'d'.repeat(STATE_DIR_BYTES - 1)}`;
  const socket = join(sessionDirs(stateDir, '0b253cc2-059b-4b22-b34d-5ad7a7949052').run, 'pulse.sock');
  expect(Buffer.byteLength(socket)).toBe(107);
});

test('an agent that is killed while it replaces a record leaves the former one complete', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'footlight-record-'));
  try {
    const id = '0b253cc2-059b-4b22-b34d-5ad7a7949052';
    const dirs = sessionDirs(stateDir, id);
    await makeSessionDirs(dirs, null);
    const record = { session_id: id, uid: 70_000, home: '/homes/alice/app', display: null };
    await writeRecord(dirs, record);
    // A hard link to the former file. Its content would change if the record were overwritten in place.
    const former = join(stateDir, 'former');
    linkSync(join(dirs.root, 'record.json'), former);
    await writeRecord(dirs, { ...record, next_home: '/homes/alice/other' });
    expect(JSON.parse(readFileSync(former, 'utf8'))).toEqual(record);
    expect((await leftSessions(stateDir))[0]?.record?.next_home).toBe('/homes/alice/other');
  } finally {
    rmSync(stateDir, { recursive: true });
  }
});
