import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';

/** Every runtime preset, sorted by name. */
export function usePresets() {
  return useQuery({
    queryKey: adminKeys.presetList,
    queryFn: ({ signal }) => call('runtimePresets.list', { signal }),
  });
}
