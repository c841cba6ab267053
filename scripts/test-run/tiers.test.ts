import { describe, expect, test } from 'vitest';
import { changedTier } from './tiers.mjs';

describe('end to end, after a change', () => {
  const ends = (...changed: string[]) =>
    changedTier('main', changed)
      .flat(2)
      .flatMap((suite) => (suite !== 'sources' && suite.name === 'end to end' ? [suite.words] : []));

  test('runs completely if a program changed, because imports do not lead to it', () => {
    expect(ends('node-agent/src/media/session/media-clock.ts')).toEqual([
      ['--project', 'e2e', '--maxWorkers=1'],
    ]);
  });

  test.each([
    ['a test', 'control-plane/src/jobs/lease.db.test.ts'],
    ['a document', 'docs/design.md'],
  ])('follows imports when only %s changed', (_, file) => {
    expect(ends(file)).toEqual([
      ['--project', 'e2e', '--maxWorkers=1', '--changed=main', '--passWithNoTests'],
    ]);
  });
});
