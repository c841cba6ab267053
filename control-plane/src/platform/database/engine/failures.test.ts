import { describe, expect, test } from 'vitest';
import { classifyFailure, isDown, isUnavailable } from './failures.ts';

const failure = (code: string, more: object = {}): Error => Object.assign(new Error(code), { code, ...more });

describe('a failure that is no fault of the statement', () => {
  test.each([
    ['SQLITE_READONLY', 'the disk was mounted read-only'],
    ['SQLITE_READONLY_DBMOVED', 'the file was moved away'],
    ['SQLITE_CANTOPEN', 'no descriptor is left for the journal'],
    ['SQLITE_NOMEM', 'no memory is left'],
    ['SQLITE_PROTOCOL', 'the lock of the journal could not be had'],
    ['SQLITE_CORRUPT', 'a page of the file is damaged'],
    ['25006', 'a standby, or a server that was set to read-only'],
    ['53200', 'the server is out of memory'],
    ['53400', 'a limit of the server is reached'],
    ['58030', 'the server cannot read or write its disk'],
    ['58P01', 'a file of the server is missing'],
    ['XX001', 'a page of the server is damaged'],
    ['57P04', 'the database was dropped'],
    ['57P05', 'the connection was idle for too long'],
    ['28P01', 'the password was changed'],
    ['28000', 'the server lets this user in no more'],
    ['3D000', 'the database is not there'],
    ['42501', 'a right was taken away'],
  ])('%s: %s', (code) => {
    expect([isUnavailable(failure(code)), isDown(failure(code))]).toEqual([true, true]);
  });

  test.each(['EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN', 'EHOSTDOWN', 'EMFILE', 'ENFILE', 'EADDRNOTAVAIL'])(
    'a connection that ends with %s',
    (code) => {
      expect(isUnavailable(failure(code, { syscall: 'connect' }))).toBe(true);
    },
  );
});

describe('a failure that comes again with the same statement', () => {
  test.each(['22003', '22021', '22P02', '23502', '23514', '42601', '42P01', '42703', '54000', '0A000'])(
    'of Postgres: %s',
    (code) => expect(classifyFailure(failure(code))).toBe('other'),
  );
  test.each([
    'SQLITE_ERROR',
    'SQLITE_CONSTRAINT_CHECK',
    'SQLITE_CONSTRAINT_NOTNULL',
    'SQLITE_TOOBIG',
    'SQLITE_MISMATCH',
    'SQLITE_RANGE',
  ])('of SQLite: %s', (code) => expect(classifyFailure(failure(code))).toBe('other'));

  test('an error of ours', () => {
    expect(classifyFailure(new TypeError('x is not a function'))).toBe('other');
    expect(classifyFailure(failure('EMFILE'))).toBe('other');
  });
});
