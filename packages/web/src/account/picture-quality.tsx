import { NativeSelect } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { Problem } from '../components/problem.tsx';
import { Skeleton } from '../components/skeleton.tsx';
import styles from './account.module.css';
import { choicesOf, offerWords } from './quality-choices.ts';

/** The person's preferred launch profile, among those for the device. */
export function PictureQuality() {
  const queryClient = useQueryClient();
  const preference = useQuery({
    queryKey: keys.profilePreference,
    queryFn: ({ signal }) => call('me.profilePreferences.read', { signal }),
  });
  const offer = useQuery({
    queryKey: keys.profileOffer,
    queryFn: ({ signal }) => call('me.profiles', { signal }),
  });
  const save = useMutation({
    mutationFn: (id: string) =>
      call('me.profilePreferences.update', { body: { default_profile_id: id === '' ? null : id } }),
    onSuccess: (answer) => queryClient.setQueryData(keys.profilePreference, answer),
  });
  const error = preference.error ?? offer.error ?? save.error;
  if (preference.data === undefined || offer.data === undefined) {
    return error ? <Problem error={error} /> : <Skeleton height={60} radius={8} />;
  }
  const { default_profile_id, global_default_profile_id, user_overrides_allowed } = preference.data;
  const chosen = save.isPending ? save.variables : (default_profile_id ?? '');
  return (
    <>
      {error && <Problem error={error} />}
      <NativeSelect
        aria-label="Picture quality"
        description={
          user_overrides_allowed
            ? offerWords(offer.data, chosen)
            : 'An administrator decides it here for everybody. Your choice is kept for when that changes.'
        }
        data={choicesOf(offer.data, global_default_profile_id)}
        value={chosen}
        onChange={(event) => save.mutate(event.currentTarget.value)}
      />
      <p className="visually-hidden" role="status">
        {save.isSuccess ? 'Saved' : ''}
      </p>
      {offer.data.notes.length > 0 && (
        <p className={styles.dim}>{offer.data.notes.map((note) => note.message).join(' ')}</p>
      )}
    </>
  );
}
