// @vitest-environment happy-dom
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { cleanup, fireEvent, screen, waitFor, within } from '@testing-library/react';
import { useState } from 'react';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ago } from '../../../test/fixtures.ts';
import { type Answers, type Asked, answerBy, refusal, showPage } from '../../../test/show-page.tsx';
import { job, jobRuns, jobs } from '../../../test/upkeep-fixtures.ts';
import { JobPage } from './job-page.tsx';
import { JobsPage, type JobsSearch } from './jobs-page.tsx';
import { ETA_NOTES, requestedLabel } from './run-job.ts';

let writes: Asked[];
let answers: Answers;
beforeEach(() => {
  answers = {
    'admin.jobs.list': () => ({ items: jobs, next_cursor: null }),
    'admin.jobs.read': ({ path }) => jobs.find(({ id }) => path.endsWith(id)) ?? job(),
    'admin.jobs.runs': ({ query }) => ({
      items: jobRuns.slice(Number(query.get('cursor') ?? 0), Number(query.get('cursor') ?? 0) + 25),
      next_cursor: query.has('cursor') ? null : '25',
    }),
    'admin.jobs.run': () => ({
      run_id: 'r',
      state: 'pending',
      scheduled_for: ago(0),
      eta_note: 'Starts within about 10 s.',
    }),
    'admin.jobs.update': () => job({ enabled: false }),
  };
  writes = answerBy(answers);
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function List({ first = {} }: { first?: JobsSearch }) {
  const [search, setSearch] = useState<JobsSearch>(first);
  return (
    <>
      <output>{JSON.stringify(search)}</output>
      <JobsPage search={search} onSearch={setSearch} />
    </>
  );
}
const names = () =>
  within(screen.getAllByRole('table')[0]!)
    .getAllByRole('link')
    .map((link) => link.textContent);
const press = (name: string) => fireEvent.click(screen.getByRole('button', { name }));

describe('the list of jobs', () => {
  test('a job whose time has passed is due, not finished', async () => {
    answers['admin.jobs.list'] = () => ({
      items: [job({ next_run_at: ago(3 * 60_000) })],
      next_cursor: null,
    });
    showPage(<List />);
    await screen.findByText('due now');
  });

  test('a job that runs only when it is needed has no time, even while a run waits', async () => {
    const schedule = { ...job().schedule, kind: 'event' as const, interval_secs: null };
    answers['admin.jobs.list'] = () => ({
      items: [job({ schedule, next_run_at: ago(3 * 60_000) })],
      next_cursor: null,
    });
    showPage(<List />);
    await screen.findByText('when needed');
  });

  test('shows schedule and result of each job, and separates jobs that are only listed', async () => {
    showPage(<List />);
    await screen.findByText('Failed 3 times in a row');
    expect(screen.getByText('Every 15 minutes')).toBeDefined();
    expect(screen.getByText('Running on 1 of 3 hosts')).toBeDefined();
    // The filter has the same label as the chip.
    expect(screen.getAllByText('Switched off')).toHaveLength(2);
    expect(screen.getByText('Other work of the service (1)')).toBeDefined();
    expect(screen.queryByRole('button', { name: 'Run Start time limit now' })).toBeNull();
  });

  test('sorts by a column’s head and filters; the URL contains both', async () => {
    showPage(<List />);
    await screen.findByText('Artwork search');
    fireEvent.click(screen.getByRole('button', { name: 'Next run' }));
    await waitFor(() => expect(screen.getByRole('status').textContent).toContain('"sort":"next"'));
    press('Failing');
    await waitFor(() => expect(screen.queryByText('Expired sign-ins')).toBeNull());
    expect(names()).toEqual(['Artwork search', 'Deletion of homes']);
  });

  test('runs a job of the instance, and says when it will start', async () => {
    showPage(<List />);
    await screen.findByText('Expired sign-ins');
    press('Run Expired sign-ins now');
    await screen.findByText('Expired sign-ins was requested. Starts within about 10 s.');
    expect(writes.map(({ path, body }) => [path, body])).toEqual([
      ['/v1/admin/jobs/auth.token_janitor/run', {}],
    ]);
  });

  test('a refusal replaces the last success message', async () => {
    showPage(<List />);
    await screen.findByText('Expired sign-ins');
    press('Run Expired sign-ins now');
    await screen.findByText(/was requested/);
    answers['admin.jobs.run'] = () =>
      refusal(409, 'job_already_running', 'A run of this target is under way.');
    press('Run Expired sign-ins now');
    await screen.findByText('A run of this target is under way.');
    await waitFor(() => expect(screen.queryByText(/was requested/)).toBeNull());
  });
});

describe('the message after a request', () => {
  const hosts = ['gpu-01', 'gpu-02'].map((node_name) => ({ host_id: node_name, node_name }));
  const name = 'Library scanner';
  test.each([
    [[], 'Library scanner was requested. The host claims due jobs about every 60 s.'],
    [
      hosts.slice(0, 1),
      'Library scanner was requested on gpu-01. The host claims due jobs about every 60 s.',
    ],
    [hosts, 'Library scanner was requested on 2 hosts. Each host claims due jobs about every 60 s.'],
  ])('names the hosts %j', (where, label) => {
    expect(requestedLabel(ETA_NOTES[1], { name, hosts: where })).toBe(label);
  });

  test('knows the notes of the server', () => {
    const file = path.resolve(import.meta.dirname, '../../../../../control-plane/src/jobs/job-admin.ts');
    const source = readFileSync(file, 'utf8');
    for (const note of ETA_NOTES) expect(source).toContain(note);
  });
});

describe('the page of a job', () => {
  const show = (id: string) => showPage(<JobPage id={id} search={{}} onSearch={() => undefined} />);

  test('shows the history with reasons and results, page by page', async () => {
    show('auth.token_janitor');
    await screen.findByText('The disk is full: 0 bytes are free on /var/lib.');
    expect(screen.getByText('live sessions')).toBeDefined();
    expect(screen.getByText('1:04')).toBeDefined();
    expect(screen.getAllByRole('row')).toHaveLength(26);
    press('Show more');
    await waitFor(() => expect(screen.getAllByRole('row')).toHaveLength(41));
  });

  test('runs a job of hosts on one of them, or on all', async () => {
    show('home.gc');
    fireEvent.click(await screen.findByRole('button', { name: /^Run Deletion of homes on .*1.* now$/ }));
    await screen.findByText(
      `Deletion of homes was requested on ${jobs[2]?.targets?.[0]?.node_name}. Starts within about 10 s.`,
    );
    expect(writes).toMatchObject([{ body: { host_id: jobs[2]?.targets?.[0]?.host_id } }]);
  });

  test('says at once that a requested run waits for its host', async () => {
    const target = jobs[2]?.targets?.[0];
    answers['admin.jobs.runs'] = () => ({
      items: [{ ...jobRuns[0], state: 'pending', trigger: 'manual', host_id: target?.host_id }],
      next_cursor: null,
    });
    show('home.gc');
    await screen.findByText('Requested, waits for the host');
  });

  test('sends only changed fields, and mentions an interval that the environment sets', async () => {
    show('artwork.sweep');
    await screen.findByText(/SERVICE_ARTWORK_SWEEP_INTERVAL of the server's environment/);
    expect((screen.getByLabelText(/^Time between two runs/) as HTMLInputElement).disabled).toBe(true);
    fireEvent.click(screen.getByRole('switch', { name: /^Switched on/ }));
    press('Save changes');
    await waitFor(() =>
      expect(writes).toMatchObject([{ id: 'admin.jobs.update', body: { enabled: false } }]),
    );
  });

  test('a job that is only listed has no form and no history', async () => {
    show('session.start_watchdog');
    await screen.findByText('Ends sessions that do not start in time.');
    expect(screen.queryByText('History')).toBeNull();
    expect(screen.queryByRole('button', { name: 'Save changes' })).toBeNull();
  });
});
