import { describe, expect, test } from 'vitest';
import { isExpiredWait } from './report.mjs';
import { filesToRetry } from './retry.mjs';

const failure = (file: string, group: string, expired: boolean) => ({
  file,
  group,
  expired,
  test: 'a test',
  message: 'a message',
});

describe('an error is an expired wait', () => {
  test.each([
    [{ name: 'ExpiredWait', message: 'the host takes sessions: not within 60000 ms' }, true],
    [{ name: 'TimeoutError', message: 'page.waitForURL: Timeout 60000ms exceeded.' }, true],
    [{ name: 'Error', message: 'Test timed out in 180000ms.' }, true],
    [{ name: 'Error', message: 'Hook timed out in 180000ms.' }, true],
    [
      {
        name: 'AssertionError',
        message: 'expected 1 to be 2',
        cause: { message: 'Matcher did not succeed in time.' },
      },
      true,
    ],
    [{ name: 'AssertionError', message: 'expected 1 to be 2' }, false],
    [{ name: 'TypeError', message: 'fetch failed', cause: { message: 'connect ECONNREFUSED' } }, false],
  ])('%j: %s', (error, expired) => {
    expect(isExpiredWait(error)).toBe(expired);
  });
});

describe('an end-to-end file is retried', () => {
  test('after an expired wait, even if the rest of its group failed because of it', () => {
    expect(filesToRetry([failure('a', 'g', true), failure('a', 'g', false)])).toEqual(['a']);
  });

  test('never after a wrong value, although a wait expired later or in another group', () => {
    expect(filesToRetry([failure('a', 'g', false), failure('a', 'g', true)])).toEqual([]);
    expect(filesToRetry([failure('a', 'g', true), failure('a', 'other', false)])).toEqual([]);
  });

  test('separately for each file', () => {
    expect(filesToRetry([failure('a', '', true), failure('b', '', false)])).toEqual(['a']);
    expect(filesToRetry([])).toEqual([]);
  });
});
