// @vitest-environment happy-dom
import { type InstanceSettings, operations } from '@footlight/protocol/rest';
import { MantineProvider } from '@mantine/core';
import { useForm } from '@mantine/form';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import '../../../test/patience.ts';
import { addOperations } from '../../api/client.ts';
import { adminOperationTable } from '../frame/admin-operation-table.ts';
import { UpkeepFields, upkeepRules, upkeepValues } from './upkeep-fields.tsx';

addOperations(adminOperationTable);

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const settings = operations['settings.read'].example.response.settings as InstanceSettings;

function Fields() {
  return <UpkeepFields form={useForm({ initialValues: upkeepValues(settings), validate: upkeepRules })} />;
}

/** @param status differences from the documented example */
function show(status: object) {
  const whole = { ...operations['library.status'].example.response, enabled: true, ...status };
  vi.stubGlobal('fetch', async () => Response.json(whole));
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>
        <Fields />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

const notes = async (label: RegExp) => (await screen.findByText(label)).textContent;

test.each([
  [0, 'Never'],
  [90, 'Every 90 seconds'],
  [3_600, 'Every hour'],
])(
  'an interval of %i s from the environment is shown, because it overrides the stored one',
  async (secs, label) => {
    show({ interval_overridden_by_env: true, scan_interval_secs: secs });
    expect(await notes(/SERVICE_LIBRARY_SCAN_INTERVAL/)).toContain(`replaces this: ${label}.`);
  },
);

test('a lookup that the environment sets is shown', async () => {
  show({ appdetails_overridden_by_env: true, appdetails_lookup: false });
  expect(await notes(/SERVICE_STEAM_APPDETAILS_LOOKUP/)).toContain('the store is not asked');
});

test('the page explains why no home is searched although the switch is on', async () => {
  show({ inert_reason: 'No app is marked as a library provider.' });
  expect(await notes(/No home is searched/)).toContain('No app is marked as a library provider.');
});

test('without variables no hint is shown', async () => {
  show({});
  await screen.findByText('Homes of apps');
  expect(screen.queryByText(/SERVICE_/)).toBeNull();
});
