import { defineConfig } from 'vitest/config';

// unit: pure modules and single components; integration: the real control plane on both databases;
// timed: measures real time; e2e: the real agent, GStreamer and Chromium, one file at a time because they share the machine's clock and cores.
/** Measures how fast a killed control plane is back, so it does not run behind other tests. */
const TIMED = 'control-plane/src/integration/own-process.int.test.ts';

/** Files of hosts that only move files: they need no session, so they run beside those that do. */
const COLLECTION = [
  'node-agent/src/sessions/home/collection/**/*.int.test.ts',
  'node-agent/src/images/image-build.int.test.ts',
];

/** A test fails for what is missing, not for what is late on a busy machine. */
const patience = { testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 20_000 } } };

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...patience,
          name: 'unit',
          include: ['{protocol,control-plane,node-agent,packages/*,test-harness,scripts}/**/*.test.{ts,tsx}'],
          exclude: ['**/*.int.test.ts', '**/node_modules/**', '**/dist/**'],
        },
      },
      {
        test: {
          ...patience,
          name: 'integration',
          globalSetup: ['test-harness/src/build-run.ts', 'test-harness/src/postgres-run.ts'],
          include: ['{control-plane,node-agent,test-harness,packages/*}/**/*.int.test.ts'],
          exclude: ['**/node_modules/**', TIMED, ...COLLECTION],
        },
      },
      {
        test: {
          ...patience,
          name: 'collection',
          globalSetup: ['test-harness/src/build-run.ts'],
          include: COLLECTION,
          exclude: ['**/node_modules/**'],
        },
      },
      {
        test: {
          ...patience,
          name: 'timed',
          globalSetup: ['test-harness/src/build-run.ts', 'test-harness/src/postgres-run.ts'],
          include: [TIMED],
          exclude: ['**/node_modules/**'],
        },
      },
      {
        test: {
          ...patience,
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
