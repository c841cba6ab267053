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

test('only a rung that nothing uses can be deleted', async () => {
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
  fireEvent.click(await screen.findByRole('button', { name: 'Delete rung Spare' }));
  expect(screen.queryByRole('button', { name: /^Delete rung (Listed|Played)$/ })).toBeNull();
  await screen.findByText('No chain lists it, and no session has used it.');
});
