import { FAILURE_CODES } from '@footlight/protocol';
import { ERRORS, type ErrorCode } from '@footlight/protocol/rest';
import { expect, test } from 'vitest';
import { BY_FAILURE } from '../session/end-labels.ts';
import { ApiFailure } from './client.ts';
import { errorText } from './error-text.ts';

test.each(FAILURE_CODES)('the page has a sentence for a session that failed with %s', (code) => {
  expect(BY_FAILURE[code]).toMatch(/^[A-Z].*\.$/);
});

test.each(Object.keys(ERRORS) as ErrorCode[])('the page has a text for the refusal %s', (code) => {
  const { status, message } = ERRORS[code];
  const { title, advice } = errorText(new ApiFailure(status, code, message));
  expect(title).toMatch(/^[A-Z].*[^.]$/);
  expect(advice).toMatch(/^[A-Z].*[.]$/);
  if (status < 500 && status !== 405) expect(title).not.toBe('The server had a problem');
});
