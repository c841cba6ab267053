// @vitest-environment happy-dom
import { cleanup, screen } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { adminSession } from '../../../test/fixtures.ts';
import { answerBy, showPage } from '../../../test/show-page.tsx';
import { LiveSessionLimit } from './live-session-limit.tsx';
import { useLiveSessions } from './use-fleet.ts';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function Page() {
  const sessions = useLiveSessions({ limit: 2 });
  return (
    <>
      <p>{sessions.isSuccess ? 'loaded' : 'loading'}</p>
      <LiveSessionLimit sessions={sessions} />
    </>
  );
}

test.each([
  ['2', 'This page shows only the newest 2 of 2,000 live sessions.'],
  [null, null],
])('next page %j: %j', async (next_cursor, text) => {
  answerBy({
    'admin.sessions.list': ({ query }) => ({
      items: [adminSession(0), adminSession(1)],
      next_cursor,
      ...(query.get('count') === 'true' && { total: 2000 }),
    }),
  });
  showPage(<Page />);
  await screen.findByText('loaded');
  expect(screen.queryByText(/This page shows/)?.textContent ?? null).toBe(text);
});
