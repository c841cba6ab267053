import type { AppListItem } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { choicesOf, type QualityChoice } from '../account/quality/quality-choices.ts';
import { useUser } from '../api/auth-store.ts';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { Dialog } from '../components/dialog.tsx';
import { Problem } from '../components/problem.tsx';
import { Skeleton } from '../components/skeleton.tsx';
import { StateChip, type Tone } from '../components/state-chip.tsx';
import { t } from '../i18n/translate.ts';
import styles from './quality-dialog.module.css';

const TONES: Readonly<Record<QualityChoice['suitability'], Tone>> = {
  recommended: 'success',
  eligible: 'neutral',
  risky: 'warning',
  ineligible: 'danger',
};

/**
 * Chooses the quality of one launch: the profiles that the instance offers for the app, with the reason if a profile
 * does not suit. The choice applies only to this launch; the account's choice applies to all launches.
 */
export default function QualityDialog(props: {
  app: Pick<AppListItem, 'id' | 'name'> & Partial<Pick<AppListItem, 'profile_policy'>>;
  title: string;
  /** label of the button */
  action: string;
  /** launch profile that is chosen first; null: no preference */
  current: string | null;
  pending: boolean;
  error: unknown;
  /** null: the usual quality */
  onChoose: (profileId: string | null) => void;
  onClose: () => void;
  children?: ReactNode;
}) {
  const { app } = props;
  const name = useId();
  const [picked, setPicked] = useState<string | null>(null);
  const preference = useQuery({
    queryKey: keys.profilePreference,
    queryFn: ({ signal }) => call('me.profilePreferences.read', { signal }),
  });
  const offer = useQuery({
    queryKey: [...keys.profileOffer, app.id],
    queryFn: ({ signal }) => call('me.profiles', { query: { app_id: app.id }, signal }),
  });
  const error = props.error ?? offer.error ?? preference.error;
  const choices =
    offer.data && preference.data
      ? choicesOf(offer.data, preference.data.default_profile_id ?? preference.data.global_default_profile_id)
      : null;
  // The server lets administrators choose even then.
  const isBound = useUser()?.role !== 'admin';
  const isForced = isBound && app.profile_policy === 'force';
  const decided = isForced || (isBound && preference.data?.user_overrides_allowed === false);
  const wanted = picked ?? props.current ?? '';
  const suits = choices?.some(({ id, suitability }) => id === wanted && suitability !== 'ineligible');
  const chosen = suits && !decided ? wanted : '';
  const list = useRef<HTMLDivElement>(null);
  const isOffered = choices !== null;
  // The choices are loaded after the dialog has opened. Until then the focus is on the first button. If the person has
  // moved the focus, it stays.
  useEffect(() => {
    const waitsOn = list.current?.closest('dialog')?.querySelector('button');
    if (isOffered && document.activeElement === waitsOn)
      list.current?.querySelector<HTMLElement>('[data-autofocus]')?.focus();
  }, [isOffered]);
  return (
    <Dialog opened onClose={props.onClose} title={props.title}>
      {props.children}
      {decided && (
        <p>
          {isForced
            ? t('{app} decides its picture quality itself.', { app: app.name })
            : t('An administrator sets it for everybody here.')}
        </p>
      )}
      {error != null && <Problem error={error} />}
      {choices === null ? (
        error == null && <Skeleton height={240} radius={14} />
      ) : (
        <div ref={list} className={styles.choices} role="radiogroup" aria-label={t('Picture quality')}>
          {choices.map((choice) => (
            <label key={choice.id} className={styles.choice}>
              <input
                type="radio"
                name={name}
                value={choice.id}
                checked={choice.id === chosen}
                disabled={choice.suitability === 'ineligible' || (decided && choice.id !== '')}
                {...(choice.id === chosen ? { 'data-autofocus': true } : {})}
                onChange={() => setPicked(choice.id)}
              />
              <span className={styles.text}>
                <span className={styles.name}>
                  <strong>{choice.name}</strong>
                  {choice.chip !== null && (
                    <StateChip tone={TONES[choice.suitability]}>{t(choice.chip)}</StateChip>
                  )}
                </span>
                <span className={styles.label}>
                  {choice.id === '' ? t('The usual quality of this app.') : choice.label}
                </span>
              </span>
            </label>
          ))}
        </div>
      )}
      <div className={styles.actions}>
        <Button onClick={props.onClose}>{t('Cancel')}</Button>
        <Button
          variant="filled"
          loading={props.pending}
          disabled={choices === null}
          onClick={() => props.onChoose(chosen === '' ? null : chosen)}
        >
          {props.action}
        </Button>
      </div>
    </Dialog>
  );
}
