import { NativeSelect } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { Problem } from '../components/problem.tsx';
import { Skeleton } from '../components/skeleton.tsx';
import { t } from '../i18n/translate.ts';
import { keepLayout, keptLayout } from '../keyboard/kept-layout.ts';
import { LAYOUTS, namedLayouts, offered } from '../keyboard/layouts.ts';

/** Value of the choice that uses the layout that the browser reports. */
const DETECTED = '';

/** The layout of this device's keyboard, which sessions use. */
export default function KeyboardChoice() {
  const queryClient = useQueryClient();
  const settings = useQuery({
    queryKey: keys.uiPreferences,
    queryFn: ({ signal }) => call('uiPreferences.read', { signal }),
  });
  const keep = useMutation({
    mutationFn: (value: string) => {
      const chosen = value === DETECTED ? undefined : LAYOUTS[Number(value)];
      return keepLayout(chosen === undefined ? null : { layout: chosen.layout, variant: chosen.variant });
    },
    onSuccess: (answer) => queryClient.setQueryData(keys.uiPreferences, answer),
  });
  if (settings.isError) return <Problem error={settings.error} retry={() => void settings.refetch()} />;
  if (settings.data === undefined) return <Skeleton height={60} radius={8} />;
  const kept = keptLayout(settings.data);
  const own = kept === null ? null : offered(kept);
  const stored = own === null ? DETECTED : String(LAYOUTS.indexOf(own));
  return (
    <>
      {keep.isError && <Problem error={keep.error} />}
      <NativeSelect
        aria-label={t('Keyboard of this device')}
        description={t(
          'Apps get the characters that are printed on your keys. The choice is for this device.',
        )}
        data={[
          { value: DETECTED, label: t('As the browser reports') },
          ...namedLayouts().map(({ index, label }) => ({ value: String(index), label })),
        ]}
        value={keep.isPending ? keep.variables : stored}
        onChange={(event) => keep.mutate(event.currentTarget.value)}
      />
    </>
  );
}
