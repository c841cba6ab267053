import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';

/** Every runtime preset, by name. */
export function usePresets() {
  return useQuery({
    queryKey: keys.presetList,
    queryFn: ({ signal }) => call('runtimePresets.list', { signal }),
  });
}
