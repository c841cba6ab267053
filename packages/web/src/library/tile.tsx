import type { AppListItem } from '@footlight/protocol/rest';
import { type CSSProperties, memo, useEffect, useRef } from 'react';
import { AppPicture } from '../components/app-picture.tsx';
import { t } from '../i18n/translate.ts';
import styles from './library.module.css';

/**
 * Tabler's icons `star`, `star-filled` and `adjustments-horizontal`, each as one path and one React element that all
 * tiles share. As components they were 12 of a tile's 21 React elements, and a library renders twenty or more tiles at
 * once.
 */
const icon = (path: string, fill: 'none' | 'currentColor') => (
  <svg
    width={18}
    height={18}
    viewBox="0 0 24 24"
    fill={fill}
    stroke="currentColor"
    strokeWidth={2}
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
  >
    <path d={path} />
  </svg>
);
const STAR_PATH =
  'M12 17.75l-6.172 3.245l1.179 -6.873l-5 -4.867l6.9 -1l3.086 -6.253l3.086 6.253l6.9 1l-5 4.867l1.179 6.873l-6.158 -3.245';
const STAR = icon(STAR_PATH, 'none');
const STAR_FILLED = icon(STAR_PATH, 'currentColor');
const SLIDERS = icon(
  'M12 6a2 2 0 1 0 4 0a2 2 0 1 0 -4 0M4 6h8M16 6h4M6 12a2 2 0 1 0 4 0a2 2 0 1 0 -4 0M4 12h2M10 12h10M15 18a2 2 0 1 0 4 0a2 2 0 1 0 -4 0M4 18h11M19 18h1',
  'none',
);

/** Actions on a tile. These functions never change, so a tile renders again only when its data change. */
export interface TileActions {
  onLaunch: (app: AppListItem) => void;
  onFocusApp: (app: AppListItem, section: string) => void;
  onRestApp: (app: AppListItem) => void;
  /** the tile was added to the document */
  onAppear: (tile: HTMLElement, app: AppListItem, section: string) => void;
  /** the person wants to choose the quality */
  onQuality: (app: AppListItem) => void;
  onFavourite: (mark: { id: string; favourite: boolean }) => void;
}

/**
 * One app. A press on its picture launches the app. Its star or the key F marks it as a favourite, and the key Q opens
 * the choice of quality.
 */
export const Tile = memo(function Tile(props: {
  app: AppListItem;
  section: string;
  caption?: string | undefined;
  isStop: boolean;
  place?: CSSProperties;
  /** Position in the whole list, from 1, because only a part of the list is in the document. */
  position?: number;
  total?: number;
  actions: TileActions;
}) {
  const { app, actions, section } = props;
  const button = useRef<HTMLButtonElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each tile, whatever changes on it later
  useEffect(() => {
    if (button.current !== null) actions.onAppear(button.current, app, section);
  }, []);
  const mark = () => actions.onFavourite({ id: app.id, favourite: !app.favourite });
  return (
    <li className={styles.cell} style={props.place} aria-posinset={props.position} aria-setsize={props.total}>
      <button
        ref={button}
        type="button"
        className={styles.tile}
        data-tile={app.id}
        data-section={section}
        tabIndex={props.isStop ? 0 : -1}
        aria-label={t('Launch {app}', { app: app.name })}
        aria-keyshortcuts="f q"
        onFocus={() => actions.onFocusApp(app, section)}
        onPointerEnter={() => actions.onRestApp(app)}
        onClick={() => actions.onLaunch(app)}
        onKeyDown={(event) => {
          if (event.ctrlKey || event.metaKey || event.altKey) return;
          if (event.key !== 'f' && event.key !== 'q') return;
          event.preventDefault();
          if (event.key === 'f') mark();
          else actions.onQuality(app);
        }}
      >
        <AppPicture app={app} shape="cover" className={styles.tilePicture} />
        <span className={styles.tileName}>{app.name}</span>
        {props.caption !== undefined && <span className={styles.tileCaption}>{props.caption}</span>}
      </button>
      {/* Not a tab stop, because the list has one; the keyboard uses F on the tile. */}
      <button
        type="button"
        className={styles.favourite}
        tabIndex={-1}
        aria-pressed={app.favourite}
        aria-label={t('Favourite: {app}', { app: app.name })}
        onClick={mark}
      >
        {app.favourite ? STAR_FILLED : STAR}
      </button>
      <button
        type="button"
        className={`${styles.favourite} ${styles.quality}`}
        tabIndex={-1}
        aria-label={t('Choose the quality of {app}', { app: app.name })}
        onClick={() => actions.onQuality(app)}
      >
        {SLIDERS}
      </button>
    </li>
  );
});
