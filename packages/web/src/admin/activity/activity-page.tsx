import { NativeSelect, TextInput } from '@mantine/core';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { clock } from '../../clock.ts';
import { Problem } from '../../components/problem.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, t } from '../../i18n/translate.ts';
import type { ListSearch } from '../../search/list-search.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { SearchField, ShowMore, usePages } from '../frame/lists/paged-list.tsx';
import { PickFilter } from '../frame/lists/pick-filter.tsx';
import { PageHead } from '../frame/page-head.tsx';
import { nameOfUser, pickUsers } from '../people/user-lookup.ts';
import { ActivityTable } from './activity-table.tsx';
import { CsvButton } from './csv-button.tsx';
import { nameOfThing, pickThings } from './thing-lookup.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Refresh interval. It is long, because people read a log and do not watch it live. */
const REFRESH_MS = 15_000;
const ABOUT = [
  { value: '', label: msg('About everything') },
  { value: 'user', label: msg('Users') },
  { value: 'invite', label: msg('Invites') },
  { value: 'app', label: msg('Apps') },
  { value: 'library', label: msg('Discovery') },
  { value: 'session', label: msg('Sessions') },
  { value: 'host', label: msg('Hosts') },
  { value: 'enrollment_token', label: msg('Enrollment') },
  { value: 'image', label: msg('Images') },
  { value: 'storage_home', label: msg('Homes') },
  { value: 'launch_profile', label: msg('Launch profiles') },
  { value: 'stream_profile', label: msg('Rungs') },
  { value: 'runtime_preset', label: msg('Presets') },
  { value: 'job', label: msg('Jobs') },
  { value: 'instance', label: msg('Settings') },
  { value: 'secret', label: msg('Secrets') },
];
/** Value of the choice that shows two fields, for the first and the last day. */
const BETWEEN = 'between';
const SINCE = [
  { value: '', label: msg('At any time') },
  { value: '1', label: msg('In the last day') },
  { value: '7', label: msg('In the last 7 days') },
  { value: '30', label: msg('In the last 30 days') },
  { value: BETWEEN, label: msg('Between two days') },
];

export type ActivitySearch = ListSearch<'q' | 'about' | 'days' | 'from' | 'to' | 'who' | 'thing'>;

/** The activity log with filters. */
export function ActivityPage(props: { search: ActivitySearch; onSearch: (search: ActivitySearch) => void }) {
  usePageTitle(t('Activity'));
  const { search, onSearch } = props;
  const [nowMs] = useState(() => clock.nowMs());
  const days = SINCE.find(({ value }) => value === search.days)?.value ?? '';
  const filter = {
    q: search.q,
    target_type: search.about,
    actor_user_id: search.who,
    target_id: search.thing,
    ...(days === BETWEEN
      ? { since: dayInstant(search.from, 0), until: dayInstant(search.to, 1) }
      : { since: days === '' ? undefined : new Date(nowMs - Number(days) * DAY_MS).toISOString() }),
  };
  const { query, items } = usePages(
    adminKeys.activityList(search),
    (cursor: number | undefined, signal) =>
      call('activity.list', { query: { limit: 50, cursor, ...filter }, signal }),
    { refetchMs: REFRESH_MS },
  );
  return (
    <>
      <PageHead
        title={t('Activity')}
        lead={t('What was changed, by whom and when, and which errors occurred.')}
        actions={<CsvButton filter={filter} />}
      />
      <div className={styles.filters}>
        <SearchField
          label={t('Find activity')}
          hint={t('Action, id or name')}
          value={search.q ?? ''}
          onChange={(q) => onSearch({ ...search, q })}
        />
        <NativeSelect
          aria-label={t('Kind of object')}
          data={ABOUT.map(({ value, label }) => ({ value, label: t(label) }))}
          value={search.about ?? ''}
          onChange={(event) => onSearch({ ...search, about: event.currentTarget.value })}
        />
        <NativeSelect
          aria-label={t('Time range')}
          data={SINCE.map(({ value, label }) => ({ value, label: t(label) }))}
          value={days}
          onChange={(event) => {
            const { from: _from, to: _to, ...others } = search;
            onSearch({ ...others, days: event.currentTarget.value });
          }}
        />
        {days === BETWEEN && (
          <>
            <TextInput
              type="date"
              aria-label={t('First day')}
              value={search.from ?? ''}
              max={search.to}
              onChange={(event) => onSearch({ ...search, from: event.currentTarget.value })}
            />
            <TextInput
              type="date"
              aria-label={t('Last day')}
              value={search.to ?? ''}
              min={search.from}
              onChange={(event) => onSearch({ ...search, to: event.currentTarget.value })}
            />
          </>
        )}
        <PickFilter
          label={t('Object')}
          all={t('anything')}
          kind="things"
          id={search.thing}
          find={pickThings}
          nameOf={nameOfThing}
          onPick={(thing) => {
            const { thing: _former, ...others } = search;
            onSearch(thing === undefined ? others : { ...others, thing });
          }}
        />
        <PickFilter
          label={t('By')}
          all={t('everybody')}
          kind="users"
          id={search.who}
          find={pickUsers}
          nameOf={nameOfUser}
          onPick={(who) => {
            const { who: _former, ...others } = search;
            onSearch(who === undefined ? others : { ...others, who });
          }}
        />
      </div>
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      <ActivityTable entries={items} />
      <ShowMore query={query} />
    </>
  );
}

/**
 * Midnight at the start of the day that is `later` days after `day`, in the browser's time zone; undefined: `day` is
 * not a date.
 */
function dayInstant(day: string | undefined, later: number): string | undefined {
  const at = new Date(`${day}T00:00:00`);
  at.setDate(at.getDate() + later);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}
