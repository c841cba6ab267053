import { describe, expect, test } from 'vitest';
import { findViolations, type RunChange } from './run-log.ts';

const insert = (id: string, more: Partial<RunChange> = {}): RunChange => ({
  ...{ op: 'INSERT', id, job_id: 'home.gc', host_id: 'hosta', state: 'pending', attempt: 1 },
  ...{ claimed_at: null, fence: null, lease: '2', error: null },
  ...more,
});
const update = (id: string, state: string, more: Partial<RunChange> = {}): RunChange =>
  insert(id, { op: 'UPDATE', state, ...more });
const remove = (id: string, more: Partial<RunChange> = {}): RunChange =>
  insert(id, { op: 'DELETE', ...more });
const life = (id: string, end: string): RunChange[] => [insert(id), update(id, 'running'), update(id, end)];

describe('the log of runs', () => {
  test('finds nothing where one run follows the other', () => {
    const retry = [insert('b', { attempt: 2 }), update('b', 'running'), update('b', 'succeeded')];
    const other = insert('c', { host_id: 'hostb' });
    const planned = [insert('d'), remove('d'), ...life('e', 'aborted')];
    expect(findViolations([...life('a', 'deferred'), other, ...retry, ...planned])).toEqual([]);
  });

  test.each<[string, RunChange[]]>([
    ['a second open run', [insert('a'), insert('b')]],
    ['succeeded becomes failed', [...life('a', 'succeeded'), update('a', 'failed')]],
    ['ends as succeeded without a claim', [insert('a'), update('a', 'succeeded')]],
    ['a claim is taken back', [insert('a'), update('a', 'running'), update('a', 'pending')]],
    [
      'a second claim',
      [insert('a'), update('a', 'running', { claimed_at: '1' }), update('a', 'running', { claimed_at: '2' })],
    ],
    ['begins as running', [insert('a', { state: 'running' })]],
    ['begins with attempt 2', [insert('a', { attempt: 2 })]],
    ['begins with attempt 1', [...life('a', 'deferred'), insert('b')]],
    ['a retry is lost', life('a', 'deferred')],
    [
      'a retry is deleted',
      [...life('a', 'deferred'), insert('b', { attempt: 2 }), remove('b', { attempt: 2 })],
    ],
    ['a running run is deleted', [insert('a'), update('a', 'running'), remove('a')]],
    ['a claim with an old number', [insert('a'), update('a', 'running', { fence: '1' })]],
    [
      'a late end',
      [
        insert('a'),
        update('a', 'running', { fence: '2' }),
        update('a', 'failed', { fence: '2', lease: '3' }),
      ],
    ],
    [
      'a run of the dispatcher is reaped',
      [
        insert('a'),
        update('a', 'running', { fence: '2' }),
        update('a', 'aborted', { fence: '2', error: 'dispatcher went away' }),
      ],
    ],
  ])('finds: %s', (what, changes) => {
    expect(findViolations(changes)).toEqual([expect.stringContaining(what)]);
  });
});
