/** Launches sessions that measure encoders. Source: docs/quality.md, "Encoder certification". */

import { BENCH_USER_ID } from '../../platform/database/migrations/0001-first/certification.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { mergeRuntime } from '../app-spec.ts';
import { FEATURE_OF } from '../placement/placement.ts';
import { type LaunchApp, loadEnabledAppsNamed } from './app-store.ts';
import type { Launcher } from './launch.ts';
import type { BenchTerms, BookedLaunch, LaunchTerms } from './stages.ts';

export interface BenchLaunch {
  /** Name of the app that draws the test picture. */
  appName: string;
  host: { id: string; node_name: string; features: readonly string[] };
  gpuIndex: number;
  terms: BenchTerms;
}

/**
 * Refusals of a launch that become `conflict` for the caller of a measurement: the measurement is not possible now, or
 * not on this host.
 */
const CONFLICTS: ReadonlySet<string> = new Set([
  'no_host_available',
  'capacity_exhausted',
  'session_quota_exceeded',
]);

/** @returns a function that launches a measurement on its host; the session books one slot */
export function createBenchLauncher(
  { database }: Pick<Platform, 'database'>,
  deps: {
    launcher: Launcher;
    /** Starts sending the commands of a launched session. */
    begin(booked: BookedLaunch, actorUserId: string | null): Promise<unknown>;
  },
): (request: BenchLaunch, actorUserId: string) => Promise<{ sessionId: string; token: string }> {
  return async ({ appName, host, gpuIndex, terms: bench }, actorUserId) => {
    const app = appFor(await loadEnabledAppsNamed(database.db, appName), host);
    if (app === undefined)
      throw new ApiError('conflict', {
        message: `There is no enabled app named ${appName} that ${host.node_name} can run.`,
      });
    const terms: LaunchTerms = {
      topology: 'stream_only',
      pin: { host_id: host.id, gpu_index: gpuIndex },
      skipVramVeto: false,
      bench,
    };
    const user = { userId: BENCH_USER_ID, role: 'user' as const, deviceId: null };
    const booked = await deps.launcher
      .launch(user, { app_id: app.id, mic: false }, terms)
      .catch((error: unknown) => {
        if (!(error instanceof ApiError) || !CONFLICTS.has(error.code)) throw error;
        throw new ApiError('conflict', {
          message: `${host.node_name} has no free encode slot on GPU ${gpuIndex}, or cannot encode there.`,
        });
      });
    if (booked.token === null)
      throw new Error(`session ${booked.row.id} has no signaling token, but a measurement is streamed`);
    await deps.begin(booked, actorUserId);
    return { sessionId: booked.row.id, token: booked.token.token };
  };
}

/** The first app whose runtime the host supports. A fleet may need one app per runtime. */
function appFor(apps: readonly LaunchApp[], { features }: BenchLaunch['host']): LaunchApp | undefined {
  return apps.find((app) => {
    if (app.parent_app_id !== null) return false;
    const merged = mergeRuntime(app, app.preset, null, app.name);
    return merged !== null && features.includes(FEATURE_OF[merged.runtime]);
  });
}
