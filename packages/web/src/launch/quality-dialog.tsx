import type { AppListItem, Session } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { choicesOf, type QualityChoices, streamFacts } from '../account/quality/quality-choices.ts';
import { QualityRadios } from '../account/quality/quality-radios.tsx';
import { useUser } from '../api/auth-store.ts';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { Dialog } from '../components/dialog.tsx';
import { Problem } from '../components/problem.tsx';
import { Skeleton } from '../components/skeleton.tsx';
import { t } from '../i18n/translate.ts';
import styles from './quality-dialog.module.css';

/**
 * Chooses the quality of one launch: the profiles that the instance offers for the app, with the reason if a profile
 * does not suit. The choice applies only to this launch; the account's choice applies to all launches.
 */
export default function QualityDialog(props: {
  app: Pick<AppListItem, 'id' | 'name'> & Partial<Pick<AppListItem, 'profile_policy'>>;
  title: string;
  /** label of the button */
  action: string;
  /** launch profile that is selected when the dialog opens; null: no preference */
  current: string | null;
  /** stream of the session that runs with `current`; missing: no session runs yet */
  stream?: Session['stream'];
  pending: boolean;
  error: unknown;
  /** null: the usual quality */
  onChoose: (profileId: string | null) => void;
  onClose: () => void;
  children?: ReactNode;
}) {
  const { app, stream } = props;
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
  // The server lets administrators choose even if an app or the policy decides the quality.
  const isBound = useUser()?.role !== 'admin';
  const isForced = isBound && app.profile_policy === 'force';
  const decided = isForced || (isBound && preference.data?.user_overrides_allowed === false);
  const wanted = picked ?? props.current ?? '';
  const suits = choices?.all.some(({ id, suitability }) => id === wanted && suitability !== 'ineligible');
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
      {stream !== undefined && choices !== null && (
        <p>{nowLabel(nameIn(choices, props.current), streamFacts(stream))}</p>
      )}
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
        <div className={styles.choices}>
          <QualityRadios
            group={list}
            choices={choices}
            chosen={chosen}
            decided={decided}
            onPick={setPicked}
          />
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

/**
 * The name of a choice as the list shows it. undefined: the list no longer has it, for example because the profile was
 * deleted after the launch
 * @param profileId null: no preference
 */
function nameIn({ short, all }: QualityChoices, profileId: string | null): string | undefined {
  return [...short, ...all].find(({ id }) => id === (profileId ?? ''))?.name;
}

const nowLabel = (quality: string | undefined, facts: ReturnType<typeof streamFacts>): string =>
  quality === undefined
    ? t('Now: {size} at {fps} frames a second, about {mbps} Mbit/s.', facts)
    : t('Now: {quality}, {size} at {fps} frames a second, about {mbps} Mbit/s.', { quality, ...facts });
