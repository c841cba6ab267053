// @vitest-environment happy-dom
import { cleanup, fireEvent, screen } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { rung } from '../../../test/fixtures.ts';
import { answerBy, showPage } from '../../../test/show-page.tsx';
import { Rungs } from './rung-table.tsx';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

test('a rung in use cannot be deleted, and its button says why', async () => {
  const chains = [{ id: 'couch', display_name: 'Couch' }];
  answerBy({
    'streamProfiles.list': () => ({
      items: [
        { ...rung('a', { display_name: 'Listed' }), used_by: chains },
        { ...rung('b', { display_name: 'Played' }), session_count: 2 },
        rung('c', { display_name: 'Spare' }),
      ],
    }),
  });
  showPage(<Rungs />);
  const button = (name: string) => screen.findByRole<HTMLButtonElement>('button', { name });
  const listed = await button('Delete rung Listed');
  expect([listed.disabled, listed.title]).toEqual([true, '1 chain lists it; remove it there first.']);
  const played = await button('Delete rung Played');
  expect([played.disabled, played.title]).toEqual([
    true,
    '2 sessions have used it, so it stays for their history.',
  ]);
  fireEvent.click(await button('Delete rung Spare'));
  await screen.findByText('No chain lists it, and no session has used it.');
});
