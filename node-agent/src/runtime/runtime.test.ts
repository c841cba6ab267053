import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { xauthorityFile } from '../display/cookie.ts';
import { asSessionUser } from './confinement/command-line.ts';
import { LogRing } from './log-ring.ts';
import { ownedIds } from './owned-files.ts';
import { appEnvironment, keptPaths } from './process.ts';
import type { AppContext } from './runtime.ts';

describe('the log ring', () => {
  test('the last hundred lines, oldest first, without control characters', () => {
    const ring = new LogRing();
    for (let line = 1; line <= 150; line++) ring.add(Buffer.from(`\u001b[1mline ${line}\u001b[0m\u0007\r\n`));
    const lines = ring.tail().split('\n');
    expect(lines).toHaveLength(100);
    expect(lines[0]).toBe('line 51');
    expect(lines.at(-1)).toBe('line 150');
  });

  test('a line whose begin is gone is omitted', () => {
    const ring = new LogRing(20);
    ring.add(Buffer.from('password hunter2\nlater\n'));
    expect(ring.tail()).toBe('later');
    ring.add(Buffer.from('x'.repeat(40)));
    expect(ring.tail()).toBe('x'.repeat(20));
  });

  test('the newest of many long lines', () => {
    const ring = new LogRing();
    for (let line = 0; line < 1_000; line += 1)
      ring.add(Buffer.from(`${line}`.padEnd(1_000, 'x').concat('\n')));
    const lines = ring.tail(1_000, 256 * 1024).split('\n');
    expect(lines).toHaveLength(261);
    expect(lines.at(-1)).toMatch(/^999x/);
  });

  test('never holds more than its limit, for any input', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 400 }), { maxLength: 60 }), (chunks) => {
        const ring = new LogRing(1_000);
        for (const chunk of chunks) ring.add(Buffer.from(chunk));
        const total = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
        expect(ring.bytes).toBe(Math.min(total, 1_000));
        expect(Buffer.byteLength(ring.tail(100, 500))).toBeLessThanOrEqual(500);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: that none is left is the point
        expect(ring.tail()).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f]/);
      }),
    );
  });
});

const SURROUNDINGS: AppContext = {
  sessionId: 'the-session',
  instance: 'the-session',
  user: { uid: 70_001, gid: 70_001, groups: [] },
  dirs: {
    root: '/s',
    scratch: '/s/scratch',
    home: '/s/scratch/home',
    tmp: '/s/scratch/tmp',
    run: '/s/scratch/run',
    xauthority: '/s/scratch/xauthority',
    mounts: '/s/mounts',
    console: '/s/console',
  },
  enter: [],
  home: '/homes/alice',
  overlay: null,
  display: ':7',
  displaySocket: '/tmp/.X11-unix/X7',
  pulseServer: 'unix:/s/scratch/run/pulse.sock',
  ready: Promise.resolve(),
  network: null,
  gpu: { renderNode: null, cdiName: null },
};

describe("an app's environment", () => {
  test('the app’s settings cannot change the session’s own variables', () => {
    const env = appEnvironment(
      { env: { HOME: '/root', DISPLAY: ':0', PULSE_SERVER: 'unix:/other', GAME: '1' } },
      SURROUNDINGS,
      true,
    );
    expect(env).toMatchObject({
      HOME: '/homes/alice',
      TMPDIR: '/tmp',
      XDG_RUNTIME_DIR: '/s/scratch/run',
      DISPLAY: ':7',
      PULSE_SERVER: 'unix:/s/scratch/run/pulse.sock',
      GAME: '1',
    });
    expect(appEnvironment({ env: {} }, SURROUNDINGS, false).TMPDIR).toBe('/s/scratch/tmp');
  });

  test('the agent’s own environment is not passed on', () => {
    process.env.SERVICE_ENROLLMENT_TOKEN = 'secret-of-the-agent';
    expect(JSON.stringify(appEnvironment({ env: {} }, SURROUNDINGS, true))).not.toContain(
      'secret-of-the-agent',
    );
    delete process.env.SERVICE_ENROLLMENT_TOKEN;
  });
});

test('the setpriv that changes the user sets the parent-death signal, because the change clears it', () => {
  const user = { uid: 5, gid: 6, groups: [44] };
  expect(asSessionUser(user, ['Xvfb', ':1']).join(' ')).toEqual(
    expect.stringMatching(
      /^setpriv --reuid 5 --regid 6 --groups 44 --inh-caps=-all (--bounding-set=-all )?--no-new-privs --pdeathsig KILL -- Xvfb :1$/,
    ),
  );
  expect(asSessionUser(null, ['Xvfb']).join(' ')).toBe('setpriv --pdeathsig KILL -- Xvfb');
});

test('only paths below /tmp and /var/tmp are kept, and none twice', () => {
  expect(
    keptPaths(['/tmp/.X11-unix/X1', '/var/lib/x', '/tmp/a', '/tmp/a/b', '/tmp/a', '/tmpfoo', '/var/tmp/s']),
  ).toEqual(['/tmp/.X11-unix/X1', '/tmp/a', '/var/tmp/s']);
});

test('an Xauthority entry for every display', () => {
  const file = xauthorityFile(Buffer.alloc(16, 7));
  expect(file.toString('hex')).toBe(
    `ffff000000000012${Buffer.from('MIT-MAGIC-COOKIE-1').toString('hex')}0010${'07'.repeat(16)}`,
  );
});

test('shared memory segments of one user', () => {
  const table = `       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap
         0     327687  1600                524288  1     2      2      70001 70001 70001 70001 1 0 1 1 0
         0     327699  1600                524288  1     2      2      0     0     0     0     1 0 1 1 0`;
  expect(ownedIds(70_001, table, 'shmid')).toEqual(['327687']);
  expect(ownedIds(5, table, 'shmid')).toEqual([]);
});
