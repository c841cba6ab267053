import type { AppListItem } from '@footlight/protocol/rest';
import { lazy, Suspense, useState } from 'react';
import { Skeleton } from '../components/skeleton.tsx';
import { t } from '../i18n/translate.ts';
import { gridShape, gridWidth } from './grid-shape.ts';
import styles from './library.module.css';
import { Tile, type TileActions } from './tile.tsx';

/**
 * Loaded only for large libraries. If the file cannot be loaded, all tiles are in the document, and scrolling is less
 * smooth.
 */
const VirtualTiles = lazy(() =>
  import('./virtual-tiles.tsx').then(
    (module) => ({ default: module.VirtualTiles }),
    () => ({ default: AllTiles }),
  ),
);

/** Up to this number all tiles are in the document. They fill at most three windows. Chosen, not measured. */
const ALL_IN_DOCUMENT = 60;

/**
 * Number of tiles to render until the file is loaded: as many as a window can show. More tiles would delay the file.
 */
function tilesInWindow(): number {
  const { columns, rowHeight } = gridShape(
    gridWidth(window.innerWidth, window.innerWidth),
    window.innerWidth,
  );
  return columns * Math.ceil(window.innerHeight / rowHeight);
}

/** A row or grid of tiles with one tab stop. Arrow keys and gamepads move the focus between tiles. */
export function TileSection(props: {
  /** name of the section, stored with the focused tile */
  name: string;
  title: string;
  count?: number | undefined;
  apps: readonly AppListItem[];
  /** Short captions below the names, by app. */
  captions?: ReadonlyMap<string, string>;
  layout: 'row' | 'grid';
  busy?: boolean;
  /** the tile that had the focus at the last visit */
  former: string | null;
  actions: TileActions;
}) {
  const { apps, name } = props;
  const [activeId, setActiveId] = useState<string | null>(props.former);
  const stop = apps.some((app) => app.id === activeId) ? activeId : (apps[0]?.id ?? null);
  const many = props.layout === 'grid' && apps.length > ALL_IN_DOCUMENT;
  const list = { section: name, stop, actions: props.actions };
  return (
    <section
      className={styles.section}
      aria-label={props.title}
      aria-busy={props.busy ?? false}
      onFocus={({ target }) => {
        if (target instanceof HTMLElement && target.dataset.tile) setActiveId(target.dataset.tile);
      }}
    >
      <h2>
        {props.title}
        {props.count !== undefined && <span className={`${styles.count} tabular`}>{props.count}</span>}
      </h2>
      {many ? (
        <Suspense fallback={<AllTiles {...list} apps={apps.slice(0, tilesInWindow())} />}>
          <VirtualTiles {...list} apps={apps} />
        </Suspense>
      ) : (
        <AllTiles {...list} apps={apps} captions={props.captions} layout={props.layout} />
      )}
    </section>
  );
}

function AllTiles(props: {
  apps: readonly AppListItem[];
  captions?: ReadonlyMap<string, string> | undefined;
  layout?: 'row' | 'grid';
  section: string;
  stop: string | null;
  actions: TileActions;
}) {
  return (
    <ul className={props.layout === 'row' ? styles.row : styles.grid}>
      {props.apps.map((app) => (
        <Tile
          key={app.id}
          app={app}
          section={props.section}
          caption={props.captions?.get(app.id)}
          isStop={app.id === props.stop}
          actions={props.actions}
        />
      ))}
    </ul>
  );
}

/** Placeholders of the library. */
export function TileSkeletons({ count }: { count: number }) {
  return (
    <section className={styles.section} aria-label={t('Your apps')} aria-busy="true">
      <Skeleton width={96} height={20} />
      <ul className={styles.grid}>
        {Array.from({ length: count }, (_none, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: placeholders have no identity
          <li key={index} className={styles.cell}>
            <span className={styles.tilePicture} style={{ display: 'block' }}>
              <Skeleton height="100%" radius={14} />
            </span>
            <span className={styles.tileName}>
              <Skeleton width="70%" height={14} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
