import { afterEach, expect, test, vi } from 'vitest';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

test.each([
  ['', 5_000],
  ['10', 50_000],
  ['0', 5_000],
  ['-3', 5_000],
  ['Infinity', 5_000],
  ['much', 5_000],
])('a limit of 5 s with the factor %j is %d ms', async (factor, limitMs) => {
  vi.stubEnv('FOOTLIGHT_TEST_PATIENCE', factor);
  const { withPatience } = await import('./patience.ts');
  expect(withPatience(5_000)).toBe(limitMs);
});
