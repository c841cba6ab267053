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
import { plural, t } from '../i18n/translate.ts';
import { LaunchRefusal } from '../launch/launch-refusal.tsx';
import { LaunchStage } from '../launch/launch-stage.tsx';
import { NO_PROGRESS, stepsOf } from '../launch/launch-steps.ts';
import { useOwnSessions } from '../launch/own-sessions.ts';
import { usePreloadSession } from '../launch/player.ts';
import { type LaunchedApp, useRepeatedLaunch } from '../launch/use-launch.ts';
import { Backdrop } from './backdrop.tsx';
import { type Filter, Filters, isShown } from './filters.tsx';
import styles from './library.module.css';
import { keepPlace, readPlace } from './place.ts';
import { areFew, readRemembered, remember } from './remembered-count.ts';
import { IdleEnded } from './sessions/idle-ended.tsx';
import { LiveSessions } from './sessions/live-sessions.tsx';
import type { TileActions } from './tile.tsx';
import { TileSection, TileSkeletons } from './tile-section.tsx';
import { useAfter } from './use-after.ts';
import { hadHighlights, useApps, useFavourite, useHighlights } from './use-library.ts';
import { useSpotlight } from './use-spotlight.ts';

const QualityDialog = lazy(() => import('../launch/quality-dialog.tsx'));

/** Number of apps below which a row of recent apps would repeat visible ones. */
const MANY_APPS = 12;
/** Placeholders of a library of many or of unknown size: more than a window shows. */
const PLACEHOLDERS = 12;
const PROBE_AFTER_MS = 800;
/** A faster answer opens the session page, which draws the same stage. */
const LAUNCH_SHOWN_AFTER_MS = 150;

/** The person's apps and live sessions. */
export function LibraryPage() {
  usePageTitle(t('Library'));
  const user = useUser();
  const { query, apps } = useApps();
  const sessions = useOwnSessions();
  const { launch, refused, retry, start: startLaunch } = useRepeatedLaunch();
  // A second click would launch a second time.
  const launching = launch.isPending || launch.isSuccess;
  const [shown, setShown] = useSpotlight(launching);
  const launchIsSlow = useAfter(launch.isPending, LAUNCH_SHOWN_AFTER_MS);
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
  const [remembered] = useState(readRemembered);
  const many = apps.length > MANY_APPS;
  const [asksHighlights] = useState(hadHighlights);
  const highlights = useHighlights(query, apps, many || asksHighlights);
  const favourite = useFavourite();
  const favourites = useMemo(() => apps.filter((app) => app.favourite), [apps]);

  // After the pictures, which the person waits for.
  useEffect(() => {
    const timer = clock.setTimeout(() => void probeDevice(clock.nowMs()).catch(() => {}), PROBE_AFTER_MS);
    return () => timer.cancel();
  }, []);

  // What runs and the highlights stand above the tiles; whatever came later would push the rest down.
  const waits = query.isPending || sessions.query.isPending || (many && highlights.isPending);
  const [wasShown, setWasShown] = useState(false);
  // A highlight that is asked for later does not take the page away again.
  if (!waits && query.isSuccess && !wasShown) setWasShown(true);
  // Deferred, so that the first tiles are drawn in slices that leave the page to the person. On the way back nothing waits.
  const isPending = useDeferredValue(waits && !wasShown);
  // The first page is on the screen; favourites, filters and the count need the rest, page by page.
  const { isFetchNextPageError } = query;
  useEffect(() => {
    // A failure stays until the person tries again.
    if (!isPending && hasNextPage && !isFetchingNextPage && !isFetchNextPageError) void fetchNextPage();
  }, [isPending, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage]);

  const count = isPending ? Math.min(remembered.apps ?? PLACEHOLDERS, PLACEHOLDERS) : apps.length;
  // Few apps stand at the bottom, many at the top; before the first visit nobody knows where the name belongs.
  const placeUnknown = isPending && remembered.apps === null;
  const complete = query.isSuccess && !hasNextPage;
  useEffect(() => {
    if (complete) remember(apps.length, favourites.length);
  }, [complete, apps.length, favourites.length]);
  // Favourites of later pages get their row at once.
  const awaited = hasNextPage && remembered.favourites > favourites.length;

  const spotlight =
    shown ?? sessions.live.map((s) => apps.find((app) => app.id === s.app_id))[0] ?? apps[0] ?? null;
  const [asked, setAsked] = useState<AppListItem | null>(null);
  const start = (app: LaunchedApp) => {
    if (!launching) startLaunch(app);
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
      onQuality: setAsked,
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
        <div className={styles.spotlight} key={placeUnknown ? 'unknown' : 'known'}>
          <h1 className={placeUnknown ? 'visually-hidden' : undefined}>{spotlight?.name ?? t('Library')}</h1>
          <p>{placeUnknown ? '' : (spotlight?.description ?? '')}</p>
        </div>
        {many && !isPending && (
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

      {!isPending && <IdleEnded sessions={sessions.all} apps={apps} onLaunch={start} />}
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {!isPending && sessions.live.length > 0 && <LiveSessions sessions={sessions.live} apps={apps} />}
      {isPending && <TileSkeletons count={Math.min(count, PLACEHOLDERS)} />}
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
      {!isPending && many && !filtering && (favourites.length > 0 || awaited) && (
        <TileSection
          title={t('Favourites')}
          apps={favourites}
          layout="row"
          busy={awaited}
          {...section('favourites')}
        />
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
      <p className="visually-hidden" role="status">
        {filtering && !hasNextPage ? plural(visible.length, '{n} app found', '{n} apps found') : ''}
      </p>

      {asked !== null && (
        <Suspense fallback={null}>
          <QualityDialog
            app={asked}
            title={t('Launch {app}', { app: asked.name })}
            act={t('Launch {app}', { app: asked.name })}
            current={null}
            pending={false}
            error={null}
            onChoose={(profileId) => {
              setAsked(null);
              start(profileId === null ? asked : { ...asked, profileId });
            }}
            onClose={() => setAsked(null)}
          />
        </Suspense>
      )}

      {(launchIsSlow || refused !== null) && launch.variables !== undefined && (
        <LaunchStage
          app={launch.variables}
          steps={stepsOf(NO_PROGRESS)}
          startedAtMs={launch.submittedAt}
          usualMs={null}
          onCancel={refused === null ? null : () => launch.reset()}
          cancelLabel={t('Back to the library')}
        >
          {refused !== null && (
            <LaunchRefusal error={refused} live={sessions.live} trying={launch.isPending} retry={retry} />
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

/** Focuses the tile that was focused before the tiles were rendered again, or at the last visit. Another focus stays. */
function giveFocusBack(tile: HTMLElement): void {
  if (document.activeElement !== document.body && document.activeElement?.id !== 'main') return;
  tile.focus({ preventScroll: true });
  // After a reload nothing else brings the page back to its place.
  if (window.scrollY === 0) tile.scrollIntoView({ block: 'nearest', behavior: 'instant' });
}
