import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';

/** Every rung, sorted by id. */
export function useRungs() {
  return useQuery({
    queryKey: adminKeys.rungs,
    queryFn: ({ signal }) => call('streamProfiles.list', { signal }),
  });
}

/** Every launch profile, sorted by sort_order. */
export function useLaunchProfiles() {
  return useQuery({
    queryKey: adminKeys.launchProfileList,
    queryFn: ({ signal }) => call('launchProfiles.list', { signal }),
  });
}

/** The instance's profile policy. */
export function useProfilePolicy() {
  return useQuery({
    queryKey: adminKeys.profilePolicy,
    queryFn: ({ signal }) => call('profilePolicy.read', { signal }),
  });
}
