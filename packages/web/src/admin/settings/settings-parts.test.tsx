// @vitest-environment happy-dom
import { cleanup, fireEvent, screen } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { answerBy, showPage } from '../../../test/show-page.tsx';
import { ApiFailure } from '../../api/client.ts';
import { MasterKey, makeMasterKey } from './master-key.tsx';
import { originProblem } from './origin-words.ts';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

test('a master key has 32 random bytes, is shown as the line to set, and is sent nowhere', async () => {
  expect(makeMasterKey()).not.toBe(makeMasterKey());
  expect(Buffer.from(makeMasterKey(), 'base64')).toHaveLength(32);
  const writes = answerBy({});
  showPage(<MasterKey />);
  fireEvent.click(await screen.findByRole('button', { name: 'Make a master key' }));
  const line = screen.getByLabelText('line for the environment') as HTMLInputElement;
  expect(line.value).toMatch(/^SERVICE_SECRET_KEY=1:[A-Za-z0-9+/]{43}=$/);
  expect(screen.getByText(/where the backups of the database are not/)).toBeDefined();
  expect(writes).toEqual([]);
});

test.each([
  [400, 'allowed_origins: entry 2 is not an origin', /^Line 2, “play\.lan\/x”, is no address/],
  [400, 'allowed_origins: entry 65 is one too many; at most 64 origins are kept', /^At most 64/],
  [400, 'registration_mode: bad', null],
  [500, 'allowed_origins: entry 1', null],
])('a refusal %i “%s” is told at the field', (status, message, words) => {
  const problem = originProblem(new ApiFailure(status, 'validation_failed', message), [
    'https://a',
    ' play.lan/x',
  ]);
  if (words === null) expect(problem).toBeNull();
  else expect(problem).toMatch(words);
});
