import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { leftSessions, makeSessionDirs, STATE_DIR_BYTES, sessionDirs } from './record.ts';

test('a session’s directory names its session, for any id', async () => {
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
