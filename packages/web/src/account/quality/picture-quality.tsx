import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { saidByServer } from '../../api/server-sentences.ts';
import { Problem } from '../../components/problem.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { t } from '../../i18n/translate.ts';
import styles from '../account.module.css';
import { choicesOf } from './quality-choices.ts';
import { QualityRadios } from './quality-radios.tsx';

/** The person's preferred launch profile. Profiles that do not suit this device are shown with the reason. */
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
  /**
   * The choice is shown before the request ends: a radio that changes back meanwhile would handle the next arrow key
   * from the wrong position.
   */
  const [picked, setPicked] = useState<string | null>(null);
  const save = useMutation({
    mutationFn: (id: string) =>
      call('me.profilePreferences.update', { body: { default_profile_id: id === '' ? null : id } }),
    onSuccess: (answer) => queryClient.setQueryData(keys.profilePreference, answer),
    onSettled: (_answer, _error, id) => setPicked((newest) => (newest === id ? null : newest)),
  });
  const error = preference.error ?? offer.error ?? save.error;
  if (preference.data === undefined || offer.data === undefined) {
    return error ? <Problem error={error} /> : <Skeleton height={240} radius={14} />;
  }
  const { default_profile_id, global_default_profile_id, user_overrides_allowed } = preference.data;
  const chosen = picked ?? default_profile_id ?? '';
  return (
    <>
      {error && <Problem error={error} />}
      {!user_overrides_allowed && (
        <p className={styles.dim}>
          {t(
            'An administrator sets it for everybody here. Your choice is saved and applies if that changes.',
          )}
        </p>
      )}
      <div className={styles.qualities}>
        <QualityRadios
          choices={choicesOf(offer.data, global_default_profile_id)}
          chosen={chosen}
          onPick={(id) => {
            setPicked(id);
            save.mutate(id);
          }}
        />
      </div>
      <p className={styles.dim}>{t('Used from the next launch on, for every app that lets you choose.')}</p>
      <p className="visually-hidden" role="status">
        {save.isSuccess ? t('Saved') : ''}
      </p>
      {offer.data.notes.length > 0 && (
        <p className={styles.dim}>{offer.data.notes.map(({ message }) => saidByServer(message)).join(' ')}</p>
      )}
    </>
  );
}
