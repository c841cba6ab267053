// @vitest-environment happy-dom
import { cleanup, fireEvent, screen } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { answerBy, showPage } from '../../../test/show-page.tsx';
import { MasterKey, makeMasterKey } from './master-key.tsx';
import { originProblem } from './origin-problem.ts';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

test('a master key has 32 random bytes, is shown as the line to set, and is never sent', async () => {
  expect(makeMasterKey()).not.toBe(makeMasterKey());
  expect(Buffer.from(makeMasterKey(), 'base64')).toHaveLength(32);
  const writes = answerBy({});
  showPage(<MasterKey />);
  fireEvent.click(await screen.findByRole('button', { name: 'Make a master key' }));
  const line = screen.getByLabelText('line for the environment') as HTMLInputElement;
  expect(line.value).toMatch(/^SERVICE_SECRET_KEY=1:[A-Za-z0-9+/]{43}=$/);
  expect(screen.getByText(/with the backups of the database/)).toBeDefined();
  expect(writes).toEqual([]);
});

test('lines that the service would refuse as origins are named', () => {
  expect(originProblem(['https://a.example', '', ' http://b.example:8080 '])).toBeNull();
  expect(originProblem(['https://a.example', ' play.lan/x'])).toMatch(
    /^Line 2, “play\.lan\/x”, is not an address/,
  );
  expect(originProblem(Array.from({ length: 65 }, (_, n) => `https://h${n}.example`))).toMatch(/^At most 64/);
});
