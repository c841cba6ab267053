import { defineConfig } from 'vitest/config';

// unit: pure modules and single components; integration: the real control plane on both databases;
// e2e: the real agent, GStreamer and Chromium, one file at a time because they share the machine's clock and cores.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{protocol,control-plane,node-agent,packages/*,test-harness,scripts}/**/*.test.{ts,tsx}'],
          exclude: ['**/*.int.test.ts', '**/node_modules/**', '**/dist/**'],
        },
      },
      {
        test: {
          name: 'integration',
          globalSetup: ['test-harness/src/build-run.ts', 'test-harness/src/postgres-run.ts'],
          include: ['{control-plane,node-agent,test-harness,packages/*}/**/*.int.test.ts'],
          exclude: ['**/node_modules/**'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'e2e',
          globalSetup: ['test-harness/src/postgres-run.ts'],
          include: ['test-harness/e2e/**/*.e2e.ts'],
          exclude: ['**/node_modules/**'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
