import { describe, expect, test } from 'vitest';
import { DeadlockReader } from './postgres-log.ts';

const AT = '2026-01-01 10:00:00.123 UTC';
const LOG = `${AT} [1]  LOG:  database system is ready to accept connections
${AT} [7] test_a ERROR:  deadlock detected
${AT} [8] test_a LOG:  process 8 still waiting for ShareLock on transaction 5 after 100.1 ms
${AT} [7] test_a DETAIL:  Process 7 waits for ShareLock on transaction 5; blocked by process 8.
	Process 8 waits for ShareLock on transaction 6; blocked by process 7.
	Process 7: update sessions
	Process 8: select from users for update
${AT} [7] test_a HINT:  See server log for query details.
${AT} [7] test_a STATEMENT:  update sessions
${AT} [7] test_a ERROR:  duplicate key value
${AT} [7] test_a DETAIL:  Key (id)=(1) already exists.
`;

describe('the reader of Postgres’s log', () => {
  test('returns a deadlock with both statements, and nothing else', () => {
    const reader = new DeadlockReader();
    reader.read(LOG);
    expect(reader.reports).toHaveLength(1);
    expect(reader.reports[0]).toContain('Process 7: update sessions');
    expect(reader.reports[0]).toContain('Process 8: select from users for update');
    expect(reader.reports[0]).not.toContain('duplicate key');
    expect(reader.reports[0]).not.toContain('still waiting');
  });

  test('finds it in chunks of any size', () => {
    const reader = new DeadlockReader();
    for (const character of LOG) reader.read(character);
    const whole = new DeadlockReader();
    whole.read(LOG);
    expect(reader.reports).toEqual(whole.reports);
  });

  test('keeps a bounded number of reports, each of a bounded length', () => {
    const reader = new DeadlockReader();
    for (let n = 0; n < 100; n++)
      reader.read(`${AT} [${n}] test_a ERROR:  deadlock detected\n\t${'x'.repeat(10_000)}\n`);
    expect(reader.reports).toHaveLength(20);
    for (const report of reader.reports) expect(report.length).toBeLessThanOrEqual(8_000);
  });
});
