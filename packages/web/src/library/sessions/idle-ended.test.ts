import { expect, test } from 'vitest';
import { session } from '../../../test/fixtures.ts';
import { idleEnded } from './idle-sessions.ts';

const ended = (n: number, app_id: string) =>
  session(n, { app_id, state: 'stopped', end_reason: 'idle_timeout', ended_at: '2026-11-22T10:00:00Z' });

test('reports each app that the idle time-out ended, until it was dismissed or used again', () => {
  const [chess, paint, mail] = ['chess', 'paint', 'mail'];
  const again = session(4, { app_id: paint, state: 'running' });
  const all = [again, ended(3, chess), ended(2, chess), ended(1, paint), ended(5, mail)];
  expect(idleEnded(all, [])).toEqual([all[1], all[4]]);
  expect(idleEnded(all, [ended(3, chess).id])).toEqual([all[4]]);
  expect(idleEnded([session(0, { state: 'stopped', end_reason: 'user_requested' })], [])).toEqual([]);
});
