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
import { useAfter } from '../components/use-after.ts';
import { usePageTitle } from '../components/use-page-title.ts';
import { plural, t } from '../i18n/translate.ts';
import { LaunchRefusal } from '../launch/launch-refusal.tsx';
import { LaunchStage } from '../launch/launch-stage.tsx';
import { NO_PROGRESS, stepsOf } from '../launch/launch-steps.ts';
import { useOwnSessions } from '../launch/own-sessions.ts';
import { usePreloadSession } from '../launch/player.ts';
import { type LaunchedApp, useRepeatedLaunch } from '../launch/use-launch.ts';
import { Backdrop } from './backdrop.tsx';
import { describedAs } from './demo-texts.ts';
import { type Filter, Filters, isShown } from './filters.tsx';
import styles from './library.module.css';
import { keepPlace, readPlace } from './place.ts';
import { areFew, readRemembered, remember } from './remembered-count.ts';
import { IdleEnded } from './sessions/idle-ended.tsx';
import { LiveSessions } from './sessions/live-sessions.tsx';
import type { TileActions } from './tile.tsx';
import { TileSection, TileSkeletons } from './tile-section.tsx';
import { hadHighlights, useApps, useFavourite, useHighlights } from './use-library.ts';
import { useSpotlight } from './use-spotlight.ts';

const QualityDialog = lazy(() => import('../launch/quality-dialog.tsx'));

/** With fewer apps, a row of recent apps would only repeat visible apps. */
const MANY_APPS = 12;
/** Number of placeholders for a large library, or for a library of unknown size. They fill more than a window. */
const PLACEHOLDERS = 12;
const PROBE_AFTER_MS = 800;
/**
 * Delay before the launch stage is shown. If the answer arrives earlier, the session page opens and draws the same
 * stage.
 */
const LAUNCH_SHOWN_AFTER_MS = 150;
/** After this time, a launch without an answer is shown as unanswered. Chosen, not measured. */
const UNANSWERED_AFTER_MS = 4_000;

/** The person's apps and live sessions. */
export function LibraryPage() {
  usePageTitle(t('Library'));
  const user = useUser();
  const { query, apps } = useApps();
  const sessions = useOwnSessions();
  const { launch, refused, retry, cancel, start: startLaunch } = useRepeatedLaunch();
  // A second click would launch a second session.
  const launching = launch.isPending || launch.isSuccess;
  const [shown, setShown] = useSpotlight(launching);
  const launchIsSlow = useAfter(launch.isPending, LAUNCH_SHOWN_AFTER_MS);
  const isUnanswered = useAfter(launch.isPending, UNANSWERED_AFTER_MS);
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

  // The device is measured after the pictures have loaded, because the person waits for the pictures.
  useEffect(() => {
    const timer = clock.setTimeout(() => void probeDevice(clock.nowMs()).catch(() => {}), PROBE_AFTER_MS);
    return () => timer.cancel();
  }, []);

  // Live sessions and highlights are above the tiles. If they were shown later, they would push the tiles down.
  const waits = query.isPending || sessions.query.isPending || (many && highlights.isPending);
  const [wasShown, setWasShown] = useState(false);
  // Once the page was shown, a highlight that is requested later must not hide the page again.
  if (!waits && query.isSuccess && !wasShown) setWasShown(true);
  // The value is deferred, so that the first tiles are rendered in slices and the page reacts to input. On return to
  // the library nothing is pending.
  const isPending = useDeferredValue(waits && !wasShown);
  // The first page of apps is shown at once. Favourites, filters and the count need all apps, so further pages are
  // loaded one after another.
  const { isFetchNextPageError } = query;
  useEffect(() => {
    // After a failure the next page is loaded only when the person retries.
    if (!isPending && hasNextPage && !isFetchingNextPage && !isFetchNextPageError) void fetchNextPage();
  }, [isPending, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage]);

  const count = isPending ? Math.min(remembered.apps ?? PLACEHOLDERS, PLACEHOLDERS) : apps.length;
  // With few apps the name is at the bottom, with many at the top. Before the first visit the number is unknown.
  const placeUnknown = isPending && remembered.apps === null;
  const complete = query.isSuccess && !hasNextPage;
  useEffect(() => {
    if (complete) remember(apps.length, favourites.length);
  }, [complete, apps.length, favourites.length]);
  // Reserves space for favourites on pages that are still loading.
  const awaited = hasNextPage && remembered.favourites > favourites.length;

  const spotlight =
    shown ?? sessions.live.map((s) => apps.find((app) => app.id === s.app_id))[0] ?? apps[0] ?? null;
  const [asked, setAsked] = useState<AppListItem | null>(null);
  const start = (app: LaunchedApp) => {
    if (!launching) startLaunch(app);
  };
  // The player is preloaded when the person points at a tile and may launch soon. Scrolling alone downloads nothing.
  const preloadSession = usePreloadSession();
  // These functions never change, so a tile renders again only when its data change.
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
      // Several live sessions need a row of the page, so large tiles leave space for this row.
      style={{ '--count': count, '--share': sessions.live.length > 1 ? '25vh' : '34vh' } as CSSProperties}
    >
      <Backdrop app={spotlight} />

      <div className={styles.headline}>
        <div className={styles.spotlight} key={placeUnknown ? 'unknown' : 'known'}>
          <h1 className={placeUnknown ? 'visually-hidden' : undefined}>{spotlight?.name ?? t('Library')}</h1>
          <p>{placeUnknown ? '' : describedAs(spotlight?.description ?? '')}</p>
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
          action={
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
          {t('Try fewer letters, or ask an administrator whether you may use the app.')}
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
            action={t('Launch {app}', { app: asked.name })}
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
          onCancel={cancel}
          {...(refused !== null && { cancelLabel: t('Back to the library') })}
        >
          {/* One child or none: the stage shows its steps only without a child. */}
          {refused !== null ? (
            <LaunchRefusal error={refused} live={sessions.live} trying={launch.isPending} retry={retry} />
          ) : (
            isUnanswered && (
              <p role="status">
                {t(
                  'The server does not answer. The app starts as soon as the server answers, unless you cancel.',
                )}
              </p>
            )
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
      action={
        admin && (
          <Button component="a" href="/admin/apps" variant="filled">
            {t('Add an app')}
          </Button>
        )
      }
    >
      {admin
        ? t('Add an app and choose who may use it. Then it appears here.')
        : t('Apps appear here after an administrator has given you one.')}
    </EmptyState>
  );
}

/**
 * Focuses the tile that had the focus before the tiles were rendered again, or at the last visit. If another element
 * has the focus, it keeps the focus.
 */
function giveFocusBack(tile: HTMLElement): void {
  if (document.activeElement !== document.body && document.activeElement?.id !== 'main') return;
  tile.focus({ preventScroll: true });
  // After a reload only this restores the scroll position.
  if (window.scrollY === 0) tile.scrollIntoView({ block: 'nearest', behavior: 'instant' });
}
