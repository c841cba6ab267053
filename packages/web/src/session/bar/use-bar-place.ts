import type { UiPreferences } from '@footlight/protocol/rest';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { type BarPlace, barPlace, withBarPlace } from './bar-place.ts';

/** The person's settings of the web client; undefined: not loaded, or not available. */
export function useUiPreferences(enabled: boolean): UiPreferences | undefined {
  return useQuery({
    queryKey: keys.uiPreferences,
    queryFn: ({ signal }) => call('uiPreferences.read', { signal }),
    enabled,
    staleTime: 60_000,
    retry: false,
  }).data;
}

/** The place of the bar. A change is shown at once, and stored in the account. */
export function useBarPlace(settings: UiPreferences | undefined) {
  const queryClient = useQueryClient();
  const { edge, handle } = barPlace(settings);
  const place = useMemo(() => ({ edge, handle }), [edge, handle]);
  const store = useMutation({
    mutationFn: (next: BarPlace) =>
      call('uiPreferences.update', {
        body: { session_overlay: withBarPlace(undefined, next).session_overlay },
      }),
  });
  const setPlace = (next: BarPlace) => {
    queryClient.setQueryData(keys.uiPreferences, withBarPlace(settings, next));
    store.mutate(next);
  };
  return { place, setPlace };
}
