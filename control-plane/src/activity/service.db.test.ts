import { createLogger } from '@footlight/platform';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase } from '../platform/database/index.ts';
import { describeDatabases, ManualClock, TEST_EPOCH_MS } from '../testing/index.ts';
import { createActivity } from './index.ts';

describeDatabases('the activity log', (databases) => {
  const log: string[] = [];
  const logger = createLogger('debug', { write: (line) => void log.push(line) });
  const clock = new ManualClock();
  let database: Database;
  beforeAll(async () => {
    database = await openDatabase(await databases.fresh(), { logger });
  });
  afterAll(() => database.close());

  const rows = () => database.db.selectFrom('activity').selectAll().orderBy('id').execute();
  const entry = [null, 'app.create', 'x'] as const;

  test('keeps who did what, numbered in order', async () => {
    const activity = createActivity({ database, clock, logger, webhook: null });
    await activity.record(...entry, { keys: ['a'] });
    await activity.record(...entry);
    const [first, second] = await rows();
    expect(first).toMatchObject({
      action: 'app.create',
      target_type: 'app',
      details: '{"keys":["a"]}',
      created_at: TEST_EPOCH_MS,
    });
    expect(second).toMatchObject({ details: '{}' });
    expect((second?.id ?? 0) > (first?.id ?? 0)).toBe(true);
  });

  test('replaces details over 4096 bytes', async () => {
    const activity = createActivity({ database, clock, logger, webhook: null });
    await activity.record(...entry, { text: 'ä'.repeat(2_050) });
    expect((await rows()).at(-1)?.details).toBe('{"truncated":true}');
  });

  test('never fails the operation: not inside a transaction, not without a database', async () => {
    const activity = createActivity({ database, clock, logger, webhook: null });
    await expect(
      database.transaction(async () => {
        await activity.record(...entry);
        return 'went on';
      }),
    ).resolves.toBe('went on');
    expect(log.join()).toContain('activity.not_recorded');
  });

  test('is complete when the control plane closes: entries under way are waited for', async () => {
    const activity = createActivity({ database, clock, logger, webhook: null });
    const before = (await rows()).length;
    for (let count = 0; count < 20; count += 1) void activity.record(...entry);
    await activity.settled();
    expect(await rows()).toHaveLength(before + 20);
  });
});
