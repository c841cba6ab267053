import { defineConfig } from 'vitest/config';
import { catalogs } from './packages/web/build/catalogs.ts';

// The name of a file decides its tier (CONTRIBUTING.md, "Tests"):
//   x.test.ts     unit                                                     gate
//   x.int.test.ts integration: real programs, databases, sockets           gate
//   x.db.test.ts  integration: the database, on SQLite and Postgres        gate
//   x.e2e.ts      end to end: real agent, GStreamer and Chromium           gate
//   x.all.test.ts, x.all.e2e.ts                                            --all
//   x.warning.test.ts                                                      scripts/check, as warnings

const PACKAGES = '{protocol,control-plane,node-agent,packages/*,test-harness,scripts}';
const NEVER = ['**/node_modules/**', '**/dist/**'];

/** A test must fail if a result is missing, but not if the result is only late on a busy machine. */
const patience = { testTimeout: 180_000, hookTimeout: 180_000, expect: { poll: { timeout: 60_000 } } };

const common = { ...patience, exclude: NEVER, setupFiles: ['test-harness/src/fixed-seed.ts'] };
const programs = 'test-harness/src/build-run.ts';
const postgres = 'test-harness/src/postgres-run.ts';
const endToEnd = {
  globalSetup: [postgres],
  setupFiles: [...common.setupFiles, 'test-harness/src/e2e-run.ts'],
};

/** Agents under test wait longer for their own helper processes, which may only be late on a busy machine. */
const patientAgents = { FOOTLIGHT_TEST_PATIENCE: '10' };

export default defineConfig({
  test: {
    projects: [
      {
        plugins: [catalogs()],
        test: {
          ...common,
          name: 'unit',
          include: [`${PACKAGES}/**/*.test.{ts,tsx}`],
          exclude: [...NEVER, '**/*.{int,db,all,warning}.test.{ts,tsx}'],
        },
      },
      {
        test: {
          ...common,
          name: 'integration',
          globalSetup: [programs, postgres],
          include: ['control-plane/**/*.int.test.ts'],
        },
      },
      {
        test: {
          ...common,
          name: 'database',
          globalSetup: [programs, postgres],
          include: ['control-plane/**/*.db.test.ts'],
          env: { FOOTLIGHT_TEST_DATABASES: 'both' },
        },
      },
      {
        test: {
          ...common,
          name: 'hosts',
          globalSetup: [programs, postgres],
          include: ['{node-agent,packages/*,test-harness}/**/*.int.test.ts'],
          env: patientAgents,
        },
      },
      {
        test: {
          ...common,
          ...endToEnd,
          name: 'e2e',
          include: ['test-harness/e2e/**/*.e2e.ts'],
          exclude: [...NEVER, '**/*.all.e2e.ts'],
          env: patientAgents,
        },
      },
      {
        test: {
          ...common,
          name: 'all',
          globalSetup: [programs, postgres],
          include: [`${PACKAGES}/**/*.all.test.{ts,tsx}`],
        },
      },
      {
        test: {
          ...common,
          ...endToEnd,
          name: 'all-e2e',
          include: ['test-harness/e2e/**/*.all.e2e.ts'],
        },
      },
      {
        test: { name: 'warnings', include: ['{scripts,packages/web}/**/*.warning.test.ts'], exclude: NEVER },
      },
    ],
  },
});
