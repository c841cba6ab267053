import { expect, test } from 'vitest';
import { notEnded, startChild } from './child.ts';

const FLOOD_BYTES = 4 * 1024 * 1024;
/** The child writes to its output only after all its reports were read. */
const FLOOD = `head -c ${FLOOD_BYTES} /dev/zero >&3; echo taken`;

test('a child that floods its reports is read at a limited rate, and waits', async () => {
  let heardBytes = 0;
  let settle: (outcome: 'taken' | 'paused') => void = () => undefined;
  const outcome = new Promise<'taken' | 'paused'>((resolve) => {
    settle = resolve;
  });
  const child = await startChild(['/bin/sh', '-c', FLOOD], {
    env: { PATH: '/usr/bin:/bin' },
    // A clock that does not advance.
    clock: {
      setTimeout: () => {
        settle('paused');
        return { cancel: () => undefined };
      },
    },
    onOutput: () => settle('taken'),
    onReport: (chunk) => {
      heardBytes += chunk.length;
    },
  });
  try {
    expect(await outcome).toBe('paused');
    expect(heardBytes).toBeLessThan(FLOOD_BYTES);
    expect(child.alive).toBe(true);
  } finally {
    process.kill(-child.pid, 'SIGKILL');
    await child.exited;
  }
});

test('the error for an app that does not end names its processes, at most twenty', () => {
  expect(notEnded([12, 13]).message).toBe('the app does not end; its processes: 12, 13');
  const { message } = notEnded(Array.from({ length: 25 }, (_, pid) => pid));
  expect(message).toMatch(/ 18, 19, and 5 more$/);
});
