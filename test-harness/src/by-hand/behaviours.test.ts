import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';
import { BEHAVIOURS, behaviourOf } from './behaviours.ts';

const FAKE = path.resolve(import.meta.dirname, '../../../scripts/fake');

test('several words add up', () => {
  expect(behaviourOf(['duplicate', 'stuck'])).toMatchObject({
    duplicate: true,
    launch: [{ detail: 'starting display' }, { detail: 'starting app' }],
  });
  expect(behaviourOf([])).toEqual({});
});

test('an unknown word is refused with those that exist', () => {
  const run = spawnSync(FAKE, ['agent', 'sleepy'], { encoding: 'utf8', timeout: 20_000 });
  expect(run.status).toBe(1);
  expect(run.stderr).toBe(
    `There is no behaviour 'sleepy'; there are ${Object.keys(BEHAVIOURS).join(', ')}.\n`,
  );
});

test('without a kind it prints its usage', () => {
  const run = spawnSync(FAKE, [], { encoding: 'utf8', timeout: 20_000 });
  expect(run.status).toBe(2);
  for (const word of Object.keys(BEHAVIOURS)) expect(run.stdout).toContain(`  ${word}`);
});
