// @vitest-environment happy-dom
import type { Backup, Job } from '@footlight/protocol/rest';
import { cleanup, fireEvent, screen, waitFor, within } from '@testing-library/react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Answers, type Asked, answerBy, refusal, showPage } from '../../../test/show-page.tsx';
import { backup, backupJob, backups, jobRun } from '../../../test/upkeep-fixtures.ts';
import { restoreCommand } from './backup-labels.ts';
import { BackupsPage } from './backups-page.tsx';

const FOLDER = '/var/lib/service-control/backups';
let answers: Answers;
let writes: Asked[];
let listed: Backup[];
let job: Job;
beforeEach(() => {
  listed = backups;
  job = backupJob();
  answers = {
    'admin.backups.list': () => ({ items: listed, folder: FOLDER, keep: 14 }),
    'admin.jobs.read': () => job,
    'admin.backups.create': () => ({
      run_id: 'run',
      state: 'pending',
      scheduled_for: '2026-06-02T12:00:00.000Z',
      eta_note: 'Starts within about 10 s.',
    }),
    'admin.backups.delete': () => new Response(null, { status: 204 }),
  };
  writes = answerBy(answers);
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});
const press = async (name: string) => fireEvent.click(await screen.findByRole('button', { name }));

test('shows time, reason, size and check of each backup, and how to restore the newest verified one', async () => {
  showPage(<BackupsPage />);
  await screen.findByText('Before the migration 0002-session-order');
  const rows = screen.getAllByRole('row').slice(1);
  expect(
    rows.map((row) =>
      within(row)
        .getAllByRole('cell')
        .slice(1, 5)
        .map((cell) => cell.textContent),
    ),
  ).toEqual([
    ['Daily', '4.3 MB', 'Not verified', 'unknown'],
    ['By an administrator', '4.3 MB', 'Verified', '0.1.0'],
    ['Before the migration 0002-session-order', '2.1 MB', 'Verified', '0.1.0'],
  ]);
  expect(screen.getByLabelText('command that restores the newest backup')).toMatchObject({
    value: `./scripts/restore ${FOLDER}/${backups[1]?.name}`,
  });
  expect(screen.getByText(/^Next backup:/).textContent).toMatch(/Next backup: in 4 hours/);
  screen.getByText('The newest 14 backups stay, and the newest one before each migration.');
});

test('a backup is requested, and a running or disabled job takes no request', async () => {
  showPage(<BackupsPage />);
  await screen.findByText('Schedule and runs');
  await press('Back up now');
  await screen.findByText('Backup was requested. Starts within about 10 s.');
  expect(writes).toMatchObject([{ id: 'admin.backups.create' }]);
  cleanup();
  job = backupJob({ running: true });
  showPage(<BackupsPage />);
  const button = await screen.findByRole('button', { name: 'Back up now' });
  await screen.findByText('Running');
  expect(button.hasAttribute('disabled')).toBe(true);
});

test('a deletion says what it deletes, and whether it is the newest verified backup', async () => {
  showPage(<BackupsPage />);
  await press(`Delete ${backups[1]?.name}`);
  const text = (await screen.findByText('It is the newest verified backup.')).parentElement?.textContent;
  expect(text).toMatch(/^The file of 4\.3 MB that was written .* ago is deleted from the disk, for good\./);
  await press('Delete 1 backup');
  await screen.findByText(`${backups[1]?.name} was deleted`);
  expect(writes).toMatchObject([
    { id: 'admin.backups.delete', path: `/v1/admin/backups/${backups[1]?.name}` },
  ]);
});

test('a download saves the bytes under the name of the backup, and shows a refusal', async () => {
  const name = backups[1]?.name ?? '';
  let saved: Blob | undefined;
  vi.spyOn(URL, 'createObjectURL').mockImplementation((file) => {
    saved = file as Blob;
    return 'blob:x';
  });
  const clicked = vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(() => {});
  answers['admin.backups.download'] = () =>
    new Response('bytes', { headers: { 'content-disposition': `attachment; filename="${name}"` } });
  showPage(<BackupsPage />);
  await press(`Download ${name}`);
  await waitFor(() => expect(clicked).toHaveBeenCalledTimes(1));
  expect((clicked.mock.contexts[0] as HTMLAnchorElement).download).toBe(name);
  expect(await saved?.text()).toBe('bytes');
  answers['admin.backups.download'] = () => refusal(404, 'not_found', 'There is no such backup.');
  await press(`Download ${name}`);
  await screen.findByText('It is not here any more');
});

test('a failed run shows its error, and a new instance says when the first backup comes', async () => {
  listed = [];
  job = backupJob({
    last_run: jobRun(1, 0, { state: 'failed', error: 'The disk is too full for a backup.' }),
  });
  showPage(<BackupsPage />);
  await screen.findByText('No backup yet');
  screen.getByText('The disk is too full for a backup.');
  expect(screen.queryByLabelText('command that restores the newest backup')).toBeNull();
});

test('the command is one word for the shell, whatever the folder is called', () => {
  expect(restoreCommand('/srv/backups/a.sqlite')).toBe('./scripts/restore /srv/backups/a.sqlite');
  expect(restoreCommand("/srv/my backups/it's.sqlite")).toBe(
    `./scripts/restore '/srv/my backups/it'\\''s.sqlite'`,
  );
  expect(backup({}).verified).toBe(true);
});
