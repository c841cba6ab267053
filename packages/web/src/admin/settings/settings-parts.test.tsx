// @vitest-environment happy-dom
import { operations } from '@footlight/protocol/rest';
import { cleanup, fireEvent, screen, waitFor } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { answerBy, showPage } from '../../../test/show-page.tsx';
import { MasterKey, makeMasterKey } from './master-key.tsx';
import { originProblem } from './origin-problem.ts';
import { SettingsPage } from './settings-page.tsx';

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

test('only a changed setting is sent, because the activity log lists each setting that was sent', async () => {
  const { response } = operations['settings.read'].example;
  const writes = answerBy({ 'settings.read': () => response, 'settings.update': () => response });
  showPage(<SettingsPage />);
  const { mic_capture_enabled } = response.settings;
  fireEvent.click(await screen.findByLabelText(/^Apps may hear the microphone/));
  fireEvent.click(screen.getByRole('button', { name: 'Save settings' }));
  await waitFor(() => expect(writes).toHaveLength(1));
  expect(writes[0]?.body).toEqual({ mic_capture_enabled: !mic_capture_enabled });
});
