import type { AdminSessionFilter } from '@footlight/protocol/rest';

/** The one place where cache keys are made, so that an act can name exactly what it made stale. */
export const keys = {
  me: ['me'] as const,
  setup: ['setup'] as const,
  apps: ['apps'] as const,
  app: (id: string) => ['app', id] as const,
  sessions: ['sessions'] as const,
  session: (id: string) => ['session', id] as const,
  accessCheck: ['access-check'] as const,
  hosts: ['hosts'] as const,
  host: (id: string) => ['hosts', id] as const,
  gpus: (hostId: string) => ['hosts', hostId, 'gpus'] as const,
  enrollmentTokens: ['enrollment-tokens'] as const,
  adminSessions: ['admin-sessions'] as const,
  adminOverviewSessions: ['admin-sessions', 'overview'] as const,
  adminSessionList: (filter: AdminSessionFilter, q: string) => ['admin-sessions', 'list', filter, q] as const,
  adminApps: ['admin-apps'] as const,
  adminAppsFirst: ['admin-apps', 'first'] as const,
  adminAppList: (q: string) => ['admin-apps', 'list', q] as const,
  entitlements: (appId: string) => ['entitlements', appId] as const,
};
