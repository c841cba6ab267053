import type { AppListItem } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { IconLayoutGrid, IconSearch } from '@tabler/icons-react';
import {
  type CSSProperties,
  lazy,
  Suspense,
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { probeDevice } from '../account/device-probe.ts';
import { useUser } from '../api/auth-store.ts';
import { clock } from '../clock.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { Problem } from '../components/problem.tsx';
import { usePageTitle } from '../components/use-page-title.ts';
import { LaunchStage } from '../launch/launch-stage.tsx';
import { NO_PROGRESS, stepsOf } from '../launch/launch-steps.ts';
import { useOwnSessions } from '../launch/own-sessions.ts';
import { usePreloadSession } from '../launch/player.ts';
import { useLaunch } from '../launch/use-launch.ts';
import { plural, t } from '../words/words.ts';
import { Backdrop } from './backdrop.tsx';
import { type Filter, Filters, isShown } from './filters.tsx';
import styles from './library.module.css';
import { keepPlace, readPlace } from './place.ts';
import { areFew, rememberCount, rememberedCount } from './remembered-count.ts';
import { IdleEnded } from './sessions/idle-ended.tsx';
import { LiveSessions } from './sessions/live-sessions.tsx';
import type { TileActions } from './tile.tsx';
import { TileSection, TileSkeletons } from './tile-section.tsx';
import { useAfter } from './use-after.ts';
import { useApps, useFavourite, useHighlights } from './use-library.ts';
import { useSpotlight } from './use-spotlight.ts';

/** Loaded with the first refusal. Without its file the refusal is told alone. */
const LaunchRefused = lazy(() =>
  import('../launch/launch-refused.tsx').then(
    (module) => ({ default: module.LaunchRefused }),
    () => ({ default: Problem }),
  ),
);

/** Number of apps below which a row of recent apps would repeat visible ones. */
const MANY_APPS = 12;
const PROBE_AFTER_MS = 800;
/** A faster answer opens the session page, which draws the same stage. */
const LAUNCH_SHOWN_AFTER_MS = 150;

/** The person's apps and live sessions. */
export function LibraryPage() {
  usePageTitle(t('Library'));
  const user = useUser();
  const { query, apps } = useApps();
  const sessions = useOwnSessions();
  const launch = useLaunch();
  // A second click would launch a second time.
  const launching = launch.isPending || launch.isSuccess;
  const [shown, setShown] = useSpotlight(launching);
  const launchIsSlow = useAfter(launch.isPending, LAUNCH_SHOWN_AFTER_MS);
  // What the page waits for while it tries a refused launch again by itself.
  const [waitedFor, setWaitedFor] = useState<unknown>(null);
  const refused = launch.isError ? launch.error : launch.isPending ? waitedFor : null;
  const [former] = useState(readPlace);
  const [filter, setFilter] = useState<Filter>({
    text: former.text,
    kind: former.kind,
    favourites: former.favourites,
  });
  const wanted = useDeferredValue(filter.text.trim().toLocaleLowerCase());
  const filtering = wanted !== '' || filter.kind !== null || filter.favourites;
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  const { kind, favourites: onlyFavourites } = filter;

  const visible = useMemo(
    () => apps.filter((app) => isShown(app, { text: wanted, kind, favourites: onlyFavourites })),
    [apps, kind, onlyFavourites, wanted],
  );
  const many = apps.length > MANY_APPS;
  const highlights = useHighlights(apps, many);
  const favourite = useFavourite();
  const favourites = useMemo(() => apps.filter((app) => app.favourite), [apps]);

  // A filter needs all apps, so the remaining pages are fetched.
  useEffect(() => {
    if (filtering && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [filtering, hasNextPage, isFetchingNextPage, fetchNextPage]);

  // After the pictures, which the person waits for.
  useEffect(() => {
    const timer = clock.setTimeout(() => void probeDevice(clock.nowMs()).catch(() => {}), PROBE_AFTER_MS);
    return () => timer.cancel();
  }, []);

  // What runs stands above the tiles, so they wait for it; otherwise it would push them down.
  const isPending = query.isPending || sessions.query.isPending;
  const count = query.isPending ? rememberedCount() : apps.length;
  useEffect(() => {
    if (query.isSuccess) rememberCount(apps.length);
  }, [query.isSuccess, apps.length]);

  const spotlight =
    shown ?? sessions.live.map((s) => apps.find((app) => app.id === s.app_id))[0] ?? apps[0] ?? null;
  const start = (app: AppListItem) => {
    if (launching) return;
    setWaitedFor(null);
    launch.mutate(app);
  };
  // Whoever reaches for a tile is about to launch; somebody who only looks downloads no player.
  const preloadSession = usePreloadSession();
  // The same functions at every render, so that tiles render only when they change.
  const formerFocus = useRef(former.focus);
  const newest = useRef(start);
  newest.current = start;
  const actions = useMemo<TileActions>(
    () => ({
      onLaunch: (app) => newest.current(app),
      onFocusApp: (app, section) => {
        formerFocus.current = { section, id: app.id };
        keepPlace({ focus: formerFocus.current });
        preloadSession();
        setShown(app);
      },
      onRestApp: (app) => {
        preloadSession();
        setShown(app);
      },
      onAppear: (tile, app, name) => {
        const wanted = formerFocus.current;
        if (wanted?.id !== app.id || wanted.section !== name) return;
        giveFocusBack(tile);
      },
      onFavourite: favourite.mutate,
    }),
    [setShown, favourite.mutate, preloadSession],
  );
  const section = (name: string) => ({
    name,
    former: former.focus?.section === name ? former.focus.id : null,
    actions,
  });

  return (
    <div
      className={styles.library}
      data-few={areFew(count)}
      data-beside={sessions.live.length === 1}
      // Several live sessions take a row, so large tiles leave space for it.
      style={{ '--count': count, '--share': sessions.live.length > 1 ? '25vh' : '34vh' } as CSSProperties}
    >
      <Backdrop app={spotlight} />

      <div className={styles.headline}>
        <div className={styles.spotlight}>
          <h1>{spotlight?.name ?? t('Library')}</h1>
          <p>{spotlight?.description ?? ''}</p>
        </div>
        {many && (
          <Filters
            apps={apps}
            filter={filter}
            onChange={(part) => {
              keepPlace(part);
              setFilter({ ...filter, ...part });
            }}
          />
        )}
      </div>

      <IdleEnded sessions={sessions.all} apps={apps} onLaunch={start} />
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {sessions.live.length > 0 && <LiveSessions sessions={sessions.live} apps={apps} />}
      {isPending && <TileSkeletons count={count} />}
      {query.isSuccess && apps.length === 0 && <NoApps admin={user?.role === 'admin'} />}

      {!isPending && many && !filtering && highlights.shown.length > 0 && (
        <TileSection
          title={t('For you')}
          apps={highlights.shown}
          captions={highlights.captions}
          layout="row"
          {...section('highlights')}
        />
      )}
      {!isPending && many && !filtering && favourites.length > 0 && (
        <TileSection title={t('Favourites')} apps={favourites} layout="row" {...section('favourites')} />
      )}
      {!isPending && visible.length > 0 && (
        <TileSection
          title={filtering ? t('Found') : t('All apps')}
          count={hasNextPage ? undefined : visible.length}
          apps={visible}
          layout="grid"
          busy={isFetchingNextPage}
          {...section('all')}
        />
      )}
      {filtering && visible.length === 0 && !hasNextPage && (
        <EmptyState
          icon={IconSearch}
          title={t('Nothing by that name')}
          act={
            <Button
              onClick={() => {
                const none = { text: '', kind: null, favourites: false };
                keepPlace(none);
                setFilter(none);
              }}
            >
              {t('Show all apps')}
            </Button>
          }
        >
          {t('Try fewer letters, or ask an administrator whether the app is there for you.')}
        </EmptyState>
      )}
      {hasNextPage && !filtering && (
        <MoreSentinel busy={isFetchingNextPage} onReached={() => void fetchNextPage()} />
      )}
      <p className="visually-hidden" role="status">
        {filtering && !hasNextPage ? plural(visible.length, '{n} app found', '{n} apps found') : ''}
      </p>

      {(launchIsSlow || refused !== null) && launch.variables !== undefined && (
        <LaunchStage
          app={launch.variables}
          steps={stepsOf(NO_PROGRESS)}
          startedAtMs={launch.submittedAt}
          usualMs={null}
          onCancel={refused === null ? null : () => launch.reset()}
          cancelWords={t('Back to the library')}
        >
          {refused !== null && (
            <Suspense fallback={<Problem error={refused} />}>
              <LaunchRefused
                error={refused}
                live={sessions.live}
                trying={launch.isPending}
                retry={() => {
                  setWaitedFor(refused);
                  launch.mutate(launch.variables);
                }}
              />
            </Suspense>
          )}
        </LaunchStage>
      )}
    </div>
  );
}

function NoApps({ admin }: { admin: boolean }) {
  return (
    <EmptyState
      icon={IconLayoutGrid}
      title={t('No apps here yet')}
      act={
        admin && (
          <Button component="a" href="/admin/apps" variant="filled">
            {t('Add an app')}
          </Button>
        )
      }
    >
      {admin
        ? t('Apps appear here once they exist and somebody is allowed to use them.')
        : t('Apps appear here once an administrator gives you one.')}
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

/** Focuses the tile that was focused before the tiles were rendered again, or at the last visit. Another focus stays. */
function giveFocusBack(tile: HTMLElement): void {
  if (document.activeElement !== document.body && document.activeElement?.id !== 'main') return;
  tile.focus({ preventScroll: true });
  // After a reload nothing else brings the page back to its place.
  if (window.scrollY === 0) tile.scrollIntoView({ block: 'nearest', behavior: 'instant' });
}
