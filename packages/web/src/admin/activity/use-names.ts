import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { call } from '../../api/client.ts';
import { useHosts } from '../fleet/use-fleet.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { translatedJob } from '../jobs/job-texts.ts';
import type { Names } from './activity-things.ts';

/** Largest page size of the lists. In a larger instance, the remaining objects are shown without their names. */
const MAX = 1000;
/** Names rarely change. */
const STALE_MS = 60_000;

/** Current names of apps, hosts, accounts, jobs and images; empty until they are loaded. */
export function useNames(): Names {
  const hosts = useHosts();
  const apps = useQuery({
    queryKey: adminKeys.libraryApps,
    queryFn: ({ signal }) => call('admin.apps.list', { query: { limit: MAX }, signal }),
    staleTime: STALE_MS,
  });
  const users = useQuery({
    queryKey: adminKeys.userNames,
    queryFn: ({ signal }) => call('users.list', { query: { limit: MAX }, signal }),
    staleTime: STALE_MS,
  });
  const jobs = useQuery({
    queryKey: adminKeys.jobList,
    queryFn: ({ signal }) => call('admin.jobs.list', { query: { limit: MAX }, signal }),
    staleTime: STALE_MS,
  });
  const images = useQuery({
    queryKey: adminKeys.images,
    queryFn: ({ signal }) => call('images.list', { signal }),
    staleTime: STALE_MS,
  });
  return useMemo(
    () => ({
      apps: new Map(apps.data?.items.map(({ id, name }) => [id, name])),
      hosts: new Map(hosts.data?.items.map(({ id, node_name }) => [id, node_name])),
      users: new Map(users.data?.items.map(({ id, username }) => [id, username])),
      jobs: new Map(jobs.data?.items.map(translatedJob).map(({ id, name }) => [id, name])),
      images: new Map(images.data?.images.map(({ id, display_name }) => [id, display_name])),
    }),
    [apps.data, hosts.data, users.data, jobs.data, images.data],
  );
}
