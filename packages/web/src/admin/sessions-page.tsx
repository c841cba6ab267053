import { Button, TextInput } from '@mantine/core';
import { IconPlayerPlay, IconSearch } from '@tabler/icons-react';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { Problem } from '../components/problem.tsx';
import { usePageTitle } from '../components/use-page-title.ts';
import { SESSION_FILTERS, type SessionSearch } from '../routes/-session-search.ts';
import styles from './admin-parts.module.css';
import { PageHead, Segments } from './parts.tsx';
import { SessionTable } from './session-table.tsx';

const TYPING_MS = 250;
const REFRESH_MS = 5_000;

/** Everybody's sessions, by state and by text. */
export function SessionsPage(props: { search: SessionSearch; onSearch: (search: SessionSearch) => void }) {
  usePageTitle('Sessions');
  const { search, onSearch } = props;
  const state = search.state ?? 'active';
  const q = search.q ?? '';
  const [text, setText] = useState(q);
  useEffect(() => {
    if (text === q) return;
    const timer = setTimeout(() => onSearch({ ...search, q: text }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, q, search, onSearch]);

  const query = useInfiniteQuery({
    queryKey: keys.adminSessionList(state, q),
    queryFn: ({ pageParam, signal }) =>
      call('admin.sessions.list', {
        query: {
          state,
          limit: 100,
          ...(q === '' ? {} : { q }),
          ...(pageParam === '' ? {} : { cursor: pageParam }),
        },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });
  const sessions = query.data?.pages.flatMap((page) => page.items);
  return (
    <>
      <PageHead title="Sessions" />
      <div className={styles.filters}>
        <Segments
          label="State"
          value={state}
          options={SESSION_FILTERS}
          onChange={(next) => onSearch({ ...search, state: next })}
        />
        <TextInput
          type="search"
          aria-label="Find sessions"
          placeholder="App, user or host"
          leftSection={<IconSearch size={18} />}
          value={text}
          maxLength={100}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      </div>
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {sessions?.length === 0 ? (
        <EmptyState icon={IconPlayerPlay} title={q === '' ? 'No sessions here' : 'Nothing matches'}>
          {q === ''
            ? 'Sessions appear as soon as somebody launches an app.'
            : 'Names of apps, users and hosts are searched.'}
        </EmptyState>
      ) : (
        <SessionTable
          sessions={sessions}
          open={search.open}
          onOpen={(id) => {
            const { open: _former, ...others } = search;
            onSearch(id === undefined ? others : { ...others, open: id });
          }}
        />
      )}
      {query.hasNextPage && (
        <Button
          className={styles.more ?? ''}
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          Show more
        </Button>
      )}
    </>
  );
}
