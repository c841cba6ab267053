// @vitest-environment happy-dom
import { cleanup, screen } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { host } from '../../../test/fixtures.ts';
import { answerBy, showPage } from '../../../test/show-page.tsx';
import { FirstHostStep } from './setup-first-steps.tsx';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

test('the step of the first host counts all hosts, not only those of the picture', async () => {
  answerBy({
    'fleet.summary': () => ({
      hosts: { online: 997, draining: 3, offline: 500 },
      slots: { total: 0, used: 0 },
    }),
    'hosts.list': () => ({ items: [host(1)], next_cursor: '100' }),
    'gpus.list': () => ({ items: [], next_cursor: null }),
  });
  showPage(<FirstHostStep />);
  expect(await screen.findByText('1,000 hosts connected')).toBeDefined();
  expect(screen.getByText('1,499 hosts more')).toBeDefined();
});
