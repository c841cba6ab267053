// @vitest-environment happy-dom
import { type ArtworkEnvelope, operations } from '@footlight/protocol/rest';
import { cleanup, fireEvent, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { app } from '../../../../test/fixtures.ts';
import { type Answers, type Asked, answerBy, refusal, showPage } from '../../../../test/show-page.tsx';
import { Artwork } from './artwork.tsx';
import { matchedLabel } from './match-all.tsx';

const envelope = operations['artwork.envelope'].example.response as ArtworkEnvelope;
let answers: Answers;
let writes: Asked[];
beforeEach(() => {
  answers = {
    'artwork.envelope': () => envelope,
    'artwork.reresolve': () => ({ total: 12, resolved: 9, skipped_locked: 1, failed: 0 }),
  };
  writes = answerBy(answers);
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});
const show = () => showPage(<Artwork app={app(1)} />);
const press = async (name: string | RegExp) => fireEvent.click(await screen.findByRole('button', { name }));
const sent = () => writes.map(({ id, body }) => [id, body]);

describe('the pictures of every app', () => {
  test('are matched again, and the page reports the result', async () => {
    show();
    await press('Match every app again');
    await press('Match every app');
    await screen.findByText(
      '9 of 12 apps got pictures, nothing was found for 2, 1 kept the pictures that an administrator chose',
    );
    expect(sent()).toEqual([['artwork.reresolve', { force: false }]]);
  });

  test('replaces chosen pictures only if the button says so', async () => {
    show();
    await press('Match every app again');
    fireEvent.click(await screen.findByRole('checkbox'));
    await press('Replace chosen pictures too');
    await waitFor(() => expect(sent()).toEqual([['artwork.reresolve', { force: true }]]));
  });

  test('a run that is already in progress is mentioned in the question', async () => {
    answers['artwork.reresolve'] = () => refusal(409, 'conflict', 'Such a run is already under way.');
    show();
    await press('Match every app again');
    await press('Match every app');
    await screen.findByText('Such a run is already under way.');
  });

  test('cannot be matched without a provider', async () => {
    answers['artwork.envelope'] = () => ({ ...envelope, provider_configured: false });
    show();
    await screen.findByText(/With a SteamGridDB key in the settings/);
    expect(screen.queryByRole('button', { name: 'Match every app again' })).toBeNull();
  });
});

test.each([
  [{ total: 1, resolved: 1, skipped_locked: 0, failed: 0 }, '1 of 1 app got pictures'],
  [{ total: 0, resolved: 0, skipped_locked: 0, failed: 0 }, '0 of 0 apps got pictures'],
  [
    { total: 5, resolved: 2, skipped_locked: 0, failed: 3 },
    '2 of 5 apps got pictures, 3 could not be looked up',
  ],
])('%j: %s', (counts, label) => {
  expect(matchedLabel(counts)).toBe(label);
});
