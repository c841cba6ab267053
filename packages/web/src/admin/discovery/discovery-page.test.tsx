// @vitest-environment happy-dom
import { operations } from '@footlight/protocol/rest';
import { cleanup, fireEvent, screen, waitFor, within } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { app, entitlements } from '../../../test/fixtures.ts';
import { type Answers, type Asked, answerBy, refusal, showPage } from '../../../test/show-page.tsx';
import { launcher, libraryRules, libraryStatus, unpublished } from '../../../test/upkeep-fixtures.ts';
import { scanLabel } from './discovery-labels.ts';
import { DiscoveryPage } from './discovery-page.tsx';
import { titleProblem } from './rules.tsx';

const tile = app(5, {
  parent_app_id: launcher.id,
  external_source: 'steam',
  external_id: '440',
  enabled: false,
});
let answers: Answers;
let writes: Asked[];
beforeEach(() => {
  answers = {
    'library.status': () => libraryStatus,
    'admin.apps.list': () => ({ items: [launcher, tile], next_cursor: null }),
    'libraryUnpublished.list': () => ({ items: unpublished }),
    'libraryRules.list': () => ({ items: libraryRules }),
    'libraryRules.set': () => ({ rule: libraryRules[0]!, disabled: true, revoked: 3 }),
    'libraryRules.delete': () => new Response(null, { status: 204 }),
    'library.scan': () => ({ queued: 2, skipped: 1, eligible: 3, inert_reason: '' }),
    'apps.update': () => ({ app: tile }),
    'entitlements.list': () => ({ items: entitlements(launcher.id) }),
    'libraryProviders.setEntitlementMode': ({ body }) => ({
      entitlement_mode: {
        ...{ provider: 'steam', app_id: launcher.id, mode: (body as { mode: string }).mode },
        items: [],
      },
    }),
  };
  writes = answerBy(answers);
  showPage(<DiscoveryPage search={{}} onSearch={() => undefined} />);
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});
const press = async (name: string | RegExp) => fireEvent.click(await screen.findByRole('button', { name }));
const sent = () => writes.map(({ id, body }) => [id, body]);

test('a forced search explains its effect', async () => {
  await press('Search all homes now');
  await screen.findByText('2 homes will be searched within a minute. 1 home is being searched already.');
});

test('while discovery is off, the page says so, and what is kept', async () => {
  answers['library.status'] = () => ({
    ...libraryStatus,
    enabled: false,
    inert_reason: 'Library discovery is switched off in the settings.',
  });
  await screen.findByText('Switched off');
  expect(screen.getByText(/their launchers are switched off until discovery is on again/)).toBeDefined();
});

test('a tool can be published by a decision alone', async () => {
  await press('Publish Steamworks Common Redistributables');
  await waitFor(() =>
    expect(sent()).toEqual([['libraryRules.set', { rule: 'allow', external_source: 'steam' }]]),
  );
});

test('a title whose tile was disabled gets it back', async () => {
  await press('Publish Team Fortress 2');
  await waitFor(() =>
    expect(sent()).toEqual([
      ['libraryRules.set', { rule: 'allow', external_source: 'steam' }],
      ['apps.update', { enabled: true }],
    ]),
  );
});

test('a new decision names the people who lost a title', async () => {
  await press('Add a decision');
  fireEvent.change(await screen.findByLabelText(/^Number of the title/), { target: { value: '570' } });
  await press('Save the decision');
  await screen.findByText(
    'The decision about 570 was saved: its tile was switched off, 3 people have lost it',
  );
});

test.each([
  ['440', `${tile.name} 440`],
  ['228980', 'Steamworks Common Redistributables 228980'],
  ['570', '570'],
])('the decision about %s is shown as "%s"', async (external_id, shown) => {
  answers['libraryRules.list'] = () => ({ items: [{ ...libraryRules[0]!, external_id }] });
  const button = await screen.findByRole('button', { name: `Change the decision about ${external_id}` });
  await waitFor(() => expect(button.closest('tr')?.cells[0]?.textContent?.trim()).toBe(shown));
});

test('a refusal is shown in the dialog', async () => {
  answers['libraryRules.delete'] = () => refusal(404, 'not_found', '');
  await press('Remove the decision about 570');
  await press('Remove 1 decision');
  await screen.findByText('It is not here any more');
});

describe('who may use a launcher', () => {
  const effect = operations['admin.deletions.read'].example.response;
  const open = async (name: string) => {
    await press(name);
    return screen.findByRole('dialog');
  };

  test('shows how many libraries lose it before the access of everybody is removed', async () => {
    answers['admin.deletions.read'] = () => ({ ...effect, people: 6 });
    await screen.findByText(/^Everybody may use it\./);
    const question = await open('Take from everybody');
    await within(question).findByText(
      'It disappears from the libraries of 7 people. Running sessions continue.',
    );
    fireEvent.click(within(question).getByRole('button', { name: 'Take Steam from everybody' }));
    await screen.findByText('Nobody may use Steam now');
    await screen.findByText(/^Nobody may use it, administrators included\./);
    expect(sent()).toEqual([['libraryProviders.setEntitlementMode', { mode: 'none' }]]);
  });

  test('can be limited to the signed-in person', async () => {
    answers['entitlements.list'] = () => ({ items: entitlements(launcher.id).slice(1) });
    await screen.findByText(/^1 person may use it\./);
    const question = await open('Give to me alone');
    await within(question).findByText(
      'It disappears from the library of 1 person. Running sessions continue.',
    );
    fireEvent.click(within(question).getByRole('button', { name: 'Give Steam to you alone' }));
    await screen.findByText('You alone may use Steam now');
  });

  test('is not offered for a second app of the launcher, whose grants are unchanged', async () => {
    cleanup();
    const second = app(7, { name: 'Second', library_provider: 'steam' });
    answers['admin.apps.list'] = () => ({ items: [second, launcher], next_cursor: null });
    showPage(<DiscoveryPage search={{ app: second.id }} onSearch={() => undefined} />);
    await screen.findByText('Titles of Second that people do not see');
    expect(screen.queryByRole('region', { name: 'Who may use Second' })).toBeNull();
  });
});

describe('words', () => {
  test.each([
    [{ queued: 0, skipped: 0, eligible: 0, inert_reason: 'It is off.' }, 'Nothing was searched. It is off.'],
    [{ queued: 0, skipped: 0, eligible: 0, inert_reason: '' }, 'There is no home to search.'],
    [{ queued: 1, skipped: 0, eligible: 1, inert_reason: '' }, '1 home will be searched within a minute.'],
  ])('%j: %s', (answer, label) => {
    expect(scanLabel(answer)).toBe(label);
  });

  test.each([
    ['228980', null],
    ['4294967296', 'A number such as 228980'],
    ['0440', 'A number such as 228980'],
    ['', 'A number such as 228980'],
  ])('the title %s: %s', (number, problem) => {
    expect(titleProblem(number)).toBe(problem);
  });
});
