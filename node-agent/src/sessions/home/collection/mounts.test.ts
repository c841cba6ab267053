import { expect, test } from 'vitest';
import { mountPoints, mountWithin } from './mounts.ts';

const TABLE = `22 1 254:0 / / rw shared:1 - ext4 /dev/vda rw
31 22 0:27 / /srv/homes/alice-1/a\\040game/in rw - tmpfs tmpfs rw
32 22 0:28 / /srv/homes/b\\134c rw - tmpfs tmpfs rw
`;

test('a mount point is found by its path, even with spaces and backslashes', () => {
  expect(mountPoints(TABLE)).toEqual(['/', '/srv/homes/alice-1/a game/in', '/srv/homes/b\\c']);
});

test.each([
  ['/srv/homes/alice-1/a game', '/srv/homes/alice-1/a game/in'],
  ['/srv/homes/alice-1/a game/in', '/srv/homes/alice-1/a game/in'],
  ['/srv/homes/alice-1/a', null],
  ['/srv/homes/bob', null],
])('within %s: %s', (path, found) => {
  expect(mountWithin(path, mountPoints(TABLE))).toBe(found);
});
