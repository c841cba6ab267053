import { describe, expect, test } from 'vitest';
import { LockOrderGuard } from './lock-order.ts';

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
    ['references to rows', ['begin', WRITE_GPU, 'select "id" from "users" where "id" = $1 for key share']],
  ])('is kept: %s', (_what, texts) => {
    expect(() => run(...texts)).not.toThrow();
  });

  test.each([
    ['GPUs after their sessions', ['begin', WRITE_SESSION, WRITE_GPU], 'gpus is locked after sessions'],
    ['users after sessions', ['begin', WRITE_SESSION, LOCK_USERS], 'users is locked after sessions'],
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
