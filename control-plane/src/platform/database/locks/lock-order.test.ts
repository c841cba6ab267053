import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ADVISORY_LOCKS } from '../database.ts';
import { LOCK_ORDER, LockOrderGuard } from './lock-order.ts';

const LOCK_LEASE = 'select "token" from "leases" where "name" = $1 for no key update';
const LOCK_ADVISORY = 'select pg_advisory_xact_lock(7301)';
const LOCK_OTHER_ADVISORY = 'select pg_advisory_xact_lock(7302)';
const LOCK_USERS = 'select "id" from "users" where "id" in ($1, $2) order by "id" for no key update';
const LOCK_SESSIONS = 'select "id" from "sessions" where "host_id" = $1 order by "id" for no key update';
const WRITE_SESSION = 'update "sessions" set "state" = $1 where "id" = $2 and "state" = $3';
const WRITE_SESSIONS = 'update "sessions" set "state_detail" = $1 where "host_id" = $2';
const WRITE_GPU = 'update "gpus" set "slots_used" = $1 where "id" = $2';
const TAKE_GPUS =
  'update "gpus" set "slots_used" = $1 where "id" in (select "id" from "gpus" for no key update skip locked)';

function run(...texts: string[]): void {
  const guard = new LockOrderGuard();
  for (const text of texts) guard.saw(text);
}

describe('the order in which a transaction locks rows', () => {
  test.each([
    ['up the order', ['begin', LOCK_USERS, WRITE_GPU, WRITE_SESSION]],
    ['back to a table that it has locked', ['begin', WRITE_GPU, LOCK_SESSIONS, WRITE_GPU]],
    ['anything after the commit', ['begin', WRITE_SESSION, 'commit', 'begin', LOCK_USERS]],
    ['anything outside transactions', [WRITE_SESSION, WRITE_GPU, WRITE_SESSIONS]],
    ['several rows that were locked by id', ['begin', LOCK_SESSIONS, WRITE_SESSIONS]],
    ['what never waits', ['begin', 'update "storage_homes" set "a" = $1 where "id" = $2', TAKE_GPUS]],
    ['tables outside the order', ['begin', WRITE_GPU, 'update "invites" set "a" = $1']],
    ['an advisory lock between a lease and rows', ['begin', LOCK_LEASE, LOCK_ADVISORY, LOCK_USERS]],
    ['an advisory lock that is taken again', ['begin', LOCK_ADVISORY, LOCK_USERS, LOCK_ADVISORY]],
    ['references to rows', ['begin', WRITE_GPU, 'select "id" from "users" where "id" = $1 for key share']],
  ])('is kept: %s', (_what, texts) => {
    expect(() => run(...texts)).not.toThrow();
  });

  test.each([
    ['GPUs after their sessions', ['begin', WRITE_SESSION, WRITE_GPU], 'locked after sessions: gpus'],
    ['users after sessions', ['begin', WRITE_SESSION, LOCK_USERS], 'locked after sessions: users'],
    [
      'an advisory lock after users',
      ['begin', LOCK_USERS, LOCK_ADVISORY],
      'locked after users: advisory locks',
    ],
    [
      'a lease after an advisory lock',
      ['begin', LOCK_ADVISORY, LOCK_LEASE],
      'locked after advisory locks: leases',
    ],
    ['two advisory locks', ['begin', LOCK_ADVISORY, LOCK_OTHER_ADVISORY], 'a second advisory lock is taken'],
    ['several rows at once', ['begin', WRITE_SESSIONS], 'rows of sessions are changed'],
    [
      'several rows that were locked before the last commit',
      ['begin', LOCK_SESSIONS, 'commit', 'begin', WRITE_SESSIONS],
      'rows of sessions are changed',
    ],
  ])('is broken: %s', (_what, texts, why) => {
    expect(() => run(...texts)).toThrow(why);
  });
});

test('docs/database.md has the same order, and names every advisory lock', () => {
  const page = readFileSync(new URL('../../../../../docs/database.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| \d+ +\| ([^|]+?) +\| ([^|]+?) +\|$/gm)];
  const listed = rows.flatMap(([, names = '']) => names.split(', ').map((name) => name.replaceAll('`', '')));
  expect(listed).toEqual([...LOCK_ORDER]);
  const [, , users = ''] = rows.find(([, names]) => names === 'advisory locks') ?? [];
  const named = [...users.matchAll(/`(\w+)`/g)].map(([, name]) => name);
  expect(named.sort()).toEqual(Object.keys(ADVISORY_LOCKS).sort());
});
