import { type Logger, silentLogger } from '@footlight/platform';
import { afterEach, expect, test } from 'vitest';
import { findIsolation } from './process.ts';

const path = process.env.PATH;
afterEach(() => {
  process.env.PATH = path;
});

test('an agent that cannot isolate apps logs why', async () => {
  process.env.PATH = '/nonexistent';
  const lines: [object, string][] = [];
  const logger: Logger = { ...silentLogger(), warn: (fields, event) => lines.push([fields, event]) };
  expect(await findIsolation(logger)).toBe('none');
  expect(lines).toEqual([[{ error: expect.stringMatching(/bwrap/) }, 'agent.not_isolated']]);
});
