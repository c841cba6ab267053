import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../platform/clock.ts';
import { makeSessionDirs, sessionDirs } from '../sessions/record.ts';
import { makeCgroup, removeCgroupDirs } from './cgroups.ts';
import { APP_TMP_BYTES, canIsolate, ProcessRuntime } from './process.ts';

const SESSION = '0b253cc2-059b-4b22-b34d-5ad7a7949052';
const USER = { uid: 70_250, gid: 70_250, groups: [] };
const isRoot = process.getuid?.() === 0;

function canLimit(): boolean {
  const group = makeCgroup('probe-of-the-tests', { memoryBytes: 64 * 1024 * 1024, cpus: 0 });
  removeCgroupDirs(group?.dirs ?? []);
  return group !== null;
}

describe.each([
  ['in namespaces of its own', true],
  ['where namespaces cannot be made', false],
] as const)('an agent that is root starts an app %s', (_name, isolated) => {
  let stateDir: string;

  beforeAll(() => {
    stateDir = mkdtempSync('/var/tmp/footlight-agent-');
    chmodSync(stateDir, 0o711);
  });
  afterAll(() => rmSync(stateDir, { recursive: true, force: true }));

  test.skipIf(!isRoot)(
    'as the session’s user, with its limits and without new rights, never as root',
    async () => {
      if (isolated) expect(await canIsolate()).toBe(true);
      const dirs = sessionDirs(stateDir, SESSION);
      await makeSessionDirs(dirs, USER);
      const runtime = new ProcessRuntime({ isolated, memoryMb: 64, pids: 321, cpus: 0 }, systemClock);
      const script = [
        'id -u; id -g; id -G; grep "Max processes" /proc/self/limits; grep -E "NoNewPrivs|CapEff" /proc/self/status',
        'df --block-size=1 --output=target,size /tmp /dev/shm',
        // tail keeps what it may have to print.
        'head -c 200000000 /dev/zero | tail -c 200000000 | wc -c | sed "s/^/got /"',
      ].join('; ');
      const app = await runtime.start(
        { image: '', args: ['/bin/sh', '-c', script], env: {}, mounts: [], gpu: false, label: 'who am I' },
        {
          sessionId: SESSION,
          instance: SESSION,
          user: USER,
          dirs,
          home: dirs.home,
          display: ':0',
          displaySocket: `${stateDir}/X0`,
          pulseServer: null,
        },
      );
      await app.exited;
      await app.stop(0);
      const lines = app.logTail().split('\n');
      expect(lines).toEqual(
        expect.arrayContaining([
          '70250',
          expect.stringMatching(/^Max processes +321 /),
          'NoNewPrivs:	1',
          'CapEff:	0000000000000000',
        ]),
      );
      expect(lines.filter((line) => line === '0')).toEqual([]);
      if (!isolated) return;
      expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^/tmp +${APP_TMP_BYTES}$`)));
      expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^/dev/shm +${APP_TMP_BYTES}$`)));
      if (canLimit()) expect(lines).toContain('got 0');
    },
  );
});
