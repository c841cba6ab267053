import type { AppListItem, Session } from '@footlight/protocol/rest';
import { Button, TextInput } from '@mantine/core';
import { IconLayoutGrid, IconSearch } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import {
  type CSSProperties,
  type KeyboardEvent,
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { probeDevice } from '../account/device-probe.ts';
import { useUser } from '../api/auth-store.ts';
import { ApiFailure } from '../api/client.ts';
import { clock } from '../clock.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { Problem } from '../components/problem.tsx';
import { usePageTitle } from '../components/use-page-title.ts';
import { LaunchStage } from '../launch/launch-stage.tsx';
import { NO_PROGRESS, stepsOf } from '../launch/launch-steps.ts';
import { usePreloadSession } from '../launch/player.ts';
import { useLaunch } from '../launch/use-launch.ts';
import { directionOf, nextTile } from './arrow-keys.ts';
import { Backdrop } from './backdrop.tsx';
import styles from './library.module.css';
import { LiveSessions } from './live-sessions.tsx';
import { areFew, rememberCount, rememberedCount } from './remembered-count.ts';
import { TileSection, TileSkeletons } from './tile-section.tsx';
import { useAfter } from './use-after.ts';
import { isStreamed, useApps, useFavourite, useHighlights, useOwnSessions } from './use-library.ts';
import { useSpotlight } from './use-spotlight.ts';

const KINDS = [
  { kind: 'game', words: 'Games' },
  { kind: 'desktop', words: 'Desktops' },
  { kind: 'launcher', words: 'Launchers' },
] as const;
/** Number of apps below which a row of recent apps would repeat visible ones. */
const MANY_APPS = 12;
const PRELOAD_AFTER_MS = 800;
/** A faster answer opens the session page, which draws the same stage. */
const LAUNCH_SHOWN_AFTER_MS = 150;

/** The person's apps and live sessions. */
export function LibraryPage() {
  usePageTitle('Library');
  const user = useUser();
  const { query, apps } = useApps();
  const sessions = useOwnSessions();
  const launch = useLaunch();
  // A second click would launch a second time.
  const launching = launch.isPending || launch.isSuccess;
  const [shown, setShown] = useSpotlight(launching);
  const launchIsSlow = useAfter(launch.isPending, LAUNCH_SHOWN_AFTER_MS);
  const [text, setText] = useState('');
  const [kind, setKind] = useState<AppListItem['kind'] | null>(null);
  const wanted = useDeferredValue(text.trim().toLocaleLowerCase());
  const filtering = wanted !== '' || kind !== null;
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;

  const visible = useMemo(
    () =>
      apps.filter(
        (app) =>
          (kind === null || app.kind === kind) &&
          (wanted === '' || app.name.toLocaleLowerCase().includes(wanted)),
      ),
    [apps, kind, wanted],
  );
  const kinds = KINDS.filter(({ kind: each }) => apps.some((app) => app.kind === each));
  const many = apps.length > MANY_APPS;
  const highlights = useHighlights(apps, many);
  const favourite = useFavourite();
  const favourites = useMemo(() => apps.filter((app) => app.favourite), [apps]);

  // A filter needs all apps, so the remaining pages are fetched.
  useEffect(() => {
    if (filtering && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [filtering, hasNextPage, isFetchingNextPage, fetchNextPage]);

  // Preload the session page for the next click.
  const preloadSession = usePreloadSession();
  useEffect(() => {
    const timer = clock.setTimeout(() => {
      preloadSession();
      void probeDevice(clock.nowMs()).catch(() => {});
    }, PRELOAD_AFTER_MS);
    return () => timer.cancel();
  }, [preloadSession]);

  const count = query.isPending ? rememberedCount() : apps.length;
  useEffect(() => {
    if (query.isSuccess) rememberCount(apps.length);
  }, [query.isSuccess, apps.length]);

  const page = useRef<HTMLDivElement>(null);
  const spotlight =
    shown ?? sessions.live.map((s) => apps.find((app) => app.id === s.app_id))[0] ?? apps[0] ?? null;
  const tiles = {
    onLaunch: (app: AppListItem) => {
      if (!launching) launch.mutate(app);
    },
    onFocusApp: setShown,
    onFavourite: favourite.mutate,
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys only move the focus between real buttons
    <div
      ref={page}
      className={styles.library}
      data-few={areFew(count)}
      data-beside={sessions.live.length === 1}
      // Several live sessions take a row, so large tiles leave space for it.
      style={{ '--count': count, '--share': sessions.live.length > 1 ? '25vh' : '34vh' } as CSSProperties}
      onKeyDown={(event) => moveFocus(event, page.current)}
    >
      <Backdrop app={spotlight} />

      <div className={styles.headline}>
        <div className={styles.spotlight}>
          <h1>{spotlight?.name ?? 'Library'}</h1>
          <p>{spotlight?.description ?? ''}</p>
        </div>
        {many && (
          <div className={styles.filters}>
            {kinds.length > 1 && (
              // biome-ignore lint/a11y/useSemanticElements: a fieldset would be announced as part of a form
              <div className={styles.kinds} role="group" aria-label="Show only">
                {kinds.map((each) => (
                  <button
                    key={each.kind}
                    type="button"
                    className={styles.kind}
                    aria-pressed={kind === each.kind}
                    onClick={() => setKind(kind === each.kind ? null : each.kind)}
                  >
                    {each.words}
                  </button>
                ))}
              </div>
            )}
            <TextInput
              type="search"
              aria-label="Find an app"
              placeholder="Find an app"
              leftSection={<IconSearch size={18} />}
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
            />
          </div>
        )}
      </div>

      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {sessions.live.length > 0 && <LiveSessions sessions={sessions.live} apps={apps} />}
      {query.isPending && <TileSkeletons count={count} />}
      {query.isSuccess && apps.length === 0 && <NoApps admin={user?.role === 'admin'} />}

      {many && !filtering && highlights.shown.length > 0 && (
        <TileSection
          title="For you"
          apps={highlights.shown}
          captions={highlights.captions}
          layout="row"
          {...tiles}
        />
      )}
      {many && !filtering && favourites.length > 0 && (
        <TileSection title="Favourites" apps={favourites} layout="row" {...tiles} />
      )}
      {visible.length > 0 && (
        <TileSection
          title={filtering ? 'Found' : 'All apps'}
          count={hasNextPage ? undefined : visible.length}
          apps={visible}
          layout="grid"
          busy={isFetchingNextPage}
          {...tiles}
        />
      )}
      {filtering && visible.length === 0 && !hasNextPage && (
        <EmptyState icon={IconSearch} title="Nothing by that name">
          Try fewer letters, or ask an administrator whether the app is there for you.
        </EmptyState>
      )}
      {hasNextPage && !filtering && (
        <MoreSentinel busy={isFetchingNextPage} onReached={() => void fetchNextPage()} />
      )}
      <p className="visually-hidden" role="status">
        {filtering && !hasNextPage ? `${visible.length} apps found` : ''}
      </p>

      {(launchIsSlow || launch.isError) && launch.variables !== undefined && (
        <LaunchStage
          app={launch.variables}
          steps={stepsOf(NO_PROGRESS)}
          startedAtMs={launch.submittedAt}
          usualMs={null}
          onCancel={launch.isError ? () => launch.reset() : null}
          cancelWords="Back to the library"
        >
          {launch.isError && (
            <LaunchRefused
              error={launch.error}
              live={sessions.live}
              retry={() => launch.mutate(launch.variables)}
            />
          )}
        </LaunchStage>
      )}
    </div>
  );
}

function LaunchRefused(props: { error: unknown; live: readonly Session[]; retry: () => void }) {
  const { error, live, retry } = props;
  const navigate = useNavigate();
  const holder = error instanceof ApiFailure ? error.sessionId : undefined;
  const cannotBeShown = live.some((session) => session.id === holder && !isStreamed(session));
  if (holder === undefined || cannotBeShown) return <Problem error={error} retry={retry} />;
  return (
    <Problem
      error={error}
      act={
        <Button size="xs" onClick={() => void navigate({ to: '/app/session/$id', params: { id: holder } })}>
          Resume it
        </Button>
      }
    />
  );
}

function NoApps({ admin }: { admin: boolean }) {
  return (
    <EmptyState
      icon={IconLayoutGrid}
      title="No apps here yet"
      act={
        admin && (
          <Button component="a" href="/admin/apps" variant="filled">
            Add an app
          </Button>
        )
      }
    >
      {admin
        ? 'Apps appear here once they exist and somebody is allowed to use them.'
        : 'Apps appear here once an administrator gives you one.'}
    </EmptyState>
  );
}

/** Requests the next page before its end scrolls into view. */
function MoreSentinel({ busy, onReached }: { busy: boolean; onReached: () => void }) {
  const mark = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (busy || mark.current === null) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && onReached(), {
      rootMargin: '1200px',
    });
    observer.observe(mark.current);
    return () => observer.disconnect();
  }, [busy, onReached]);
  return <div ref={mark} style={{ height: 1 }} />;
}

function moveFocus(event: KeyboardEvent, page: HTMLElement | null): void {
  const direction = directionOf(event.key);
  const from = event.target;
  if (direction === null || page === null || !(from instanceof HTMLElement) || !('tile' in from.dataset))
    return;
  const others = [...page.querySelectorAll<HTMLElement>('[data-tile]')].filter((tile) => tile !== from);
  const next = nextTile(
    from.getBoundingClientRect(),
    others.map((tile) => tile.getBoundingClientRect()),
    direction,
  );
  const target = others[next];
  if (target === undefined) return;
  event.preventDefault();
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'smooth' });
}
