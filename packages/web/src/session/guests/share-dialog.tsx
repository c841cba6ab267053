import { type GuestRole, MAX_GUESTS } from '@footlight/protocol/guests';
import type { WatchingGuest } from '@footlight/protocol/input';
import type { SessionGuest } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useState } from 'react';
import { ApiFailure, call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { CopyLine } from '../../components/copy-line.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { msg, rich, t } from '../../i18n/translate.ts';
import { Choice } from '../dialogs/choice.tsx';
import styles from '../dialogs/dialogs.module.css';
import { ROLES, rightsLabel } from './guest-labels.ts';

const TIMES: readonly [minutes: number, label: string][] = [
  [15, msg('15 minutes')],
  [60, msg('1 hour')],
  [240, msg('4 hours')],
  [1440, msg('1 day')],
];
const DEFAULT_MINUTES = 60;

/** Makes links for guests, and shows and removes guests and links. */
export default function ShareDialog(props: {
  sessionId: string;
  /** the guests who watch now */
  watching: readonly WatchingGuest[];
  onClose: () => void;
}) {
  const { sessionId, watching } = props;
  const queryClient = useQueryClient();
  const queryKey = keys.sessionGuests(sessionId);
  const list = useQuery({
    queryKey,
    queryFn: ({ signal }) => call('guests.list', { params: { id: sessionId }, signal }),
  });
  const refresh = useCallback(
    () => queryClient.invalidateQueries({ queryKey: keys.sessionGuests(sessionId) }),
    [queryClient, sessionId],
  );
  const [role, setRole] = useState<GuestRole>('watch');
  const [minutes, setMinutes] = useState(DEFAULT_MINUTES);
  const make = useMutation({
    mutationFn: () => call('guests.create', { params: { id: sessionId }, body: { role, minutes } }),
    onSuccess: refresh,
  });
  const remove = useMutation({
    mutationFn: (guestId: string) => call('guests.remove', { params: { id: sessionId, guest_id: guestId } }),
    onSuccess: refresh,
  });
  // A guest who joins gets a name in the list.
  const names = watching.map(({ id, name }) => `${id} ${name}`).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list follows the guests
  useEffect(() => {
    void refresh();
  }, [names, refresh]);

  const all = list.data?.guests ?? [];
  const guests = all.filter(({ name }) => name !== null);
  const links = all.filter(({ name }) => name === null);
  const made = make.data && all.some(({ id }) => id === make.data.guest.id) ? make.data : null;
  const link = made && (made.url ?? `${window.location.origin}/join#${made.secret}`);
  const rowOf = (guest: SessionGuest) => {
    const isHere = watching.some(({ id }) => id === guest.id);
    const isLink = guest.name === null;
    return (
      <li key={guest.id} className={styles.guest}>
        <span className={styles.guestName}>{guest.name ?? rightsLabel(guest)}</span>
        <Button
          size="xs"
          loading={remove.isPending && remove.variables === guest.id}
          onClick={() => remove.mutate(guest.id)}
        >
          {isLink ? t('Revoke') : t('Remove {name}', { name: guest.name ?? '' })}
        </Button>
        <small>
          {!isLink && `${rightsLabel(guest)} · ${isHere ? t('is here') : t('is not connected')} · `}
          {rich('ends {when}', { when: <RelativeTime key="when" at={guest.expires_at} /> })}
        </small>
      </li>
    );
  };
  return (
    <Dialog opened onClose={props.onClose} title={t('Share with a guest')}>
      <p className={styles.hint}>
        {t(
          'A guest needs no account. Each link is for one guest, who sees and hears this app as long as you watch.',
        )}
      </p>
      {list.isError && <Problem error={list.error} retry={() => void list.refetch()} />}
      {list.data?.can_share === false && (
        <p className={styles.hint}>
          {t('This app cannot be shared: an administrator switched it off, or the machine is too old.')}
        </p>
      )}
      {list.data?.can_share === true && all.length >= MAX_GUESTS && (
        <p className={styles.hint}>
          {t('There are as many links as possible. Remove a guest or a link first.')}
        </p>
      )}
      {list.data?.can_share === true && all.length < MAX_GUESTS && (
        <>
          <h3 className={styles.place}>{t('The guest may')}</h3>
          <div className={styles.choices}>
            {ROLES.map(([name, label]) => (
              <Choice key={name} label={label} chosen={role === name} onChoose={() => setRole(name)} />
            ))}
          </div>
          <p className={styles.hint}>{t(ROLES.find(([name]) => name === role)?.[2] ?? '')}</p>
          <h3 className={styles.place}>{t('The link works for')}</h3>
          <div className={styles.choices}>
            {TIMES.map(([time, label]) => (
              <Choice key={time} label={label} chosen={minutes === time} onChoose={() => setMinutes(time)} />
            ))}
          </div>
          {make.isError && <Problem error={make.error} />}
          <Button fullWidth mt={16} variant="filled" loading={make.isPending} onClick={() => make.mutate()}>
            {t('Make a link')}
          </Button>
        </>
      )}
      {link !== null && (
        <div className={styles.link} role="status">
          <CopyLine value={link} label={t('Link for the guest')} />
          <p className={styles.hint}>
            {t(
              'Copy the link now: it is shown only here. Whoever has it can join, so send it to one person.',
            )}
          </p>
        </div>
      )}
      {remove.isError &&
        (remove.error instanceof ApiFailure && remove.error.code === 'agent_not_connected' ? (
          <p role="alert">
            {t(
              'The machine has not confirmed that the guest is disconnected. It is asked again every few seconds.',
            )}
          </p>
        ) : (
          <Problem error={remove.error} />
        ))}
      {guests.length > 0 && (
        <>
          <h3 className={styles.place}>{t('Guests')}</h3>
          <ul className={styles.guests}>{guests.map(rowOf)}</ul>
        </>
      )}
      {links.length > 0 && (
        <>
          <h3 className={styles.place}>{t('Links that nobody has opened')}</h3>
          <ul className={styles.guests}>{links.map(rowOf)}</ul>
        </>
      )}
    </Dialog>
  );
}
