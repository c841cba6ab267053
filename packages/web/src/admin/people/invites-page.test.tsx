// @vitest-environment happy-dom
import { cleanup, screen } from '@testing-library/react';
import { afterEach, test, vi } from 'vitest';
import { ago, id } from '../../../test/fixtures.ts';
import { answerBy, showPage } from '../../../test/show-page.tsx';
import { InvitesPage } from './invites-page.tsx';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const used = {
  ...{ id: id(9, 1), code_prefix: '55917a06', role: 'user', note: null, state: 'used' },
  ...{ max_uses: 1, used_count: 1, expires_at: null, created_by_username: 'ada', created_at: ago(0) },
};

test.each([
  ['No invites yet', []],
  ['No invite is still valid', [used]],
])('without a valid invite, the page says “%s” if %j were ever made', async (title, all) => {
  answerBy({ 'invites.list': ({ query }) => ({ invites: query.get('state') === 'all' ? all : [] }) });
  showPage(<InvitesPage />);
  await screen.findByText(title);
});
