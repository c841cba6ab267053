import type { AppListItem } from '@footlight/protocol/rest';
import { useState } from 'react';
import { Skeleton } from '../components/skeleton.tsx';
import { t } from '../i18n/translate.ts';
import styles from './library.module.css';
import { Tile, type TileActions } from './tile.tsx';
import { VirtualTiles } from './virtual-tiles.tsx';

/** Up to this number all tiles are in the document. They fill at most three windows. Chosen, not measured. */
const ALL_IN_DOCUMENT = 60;

/** A row or grid of tiles with one tab stop. Arrow keys and gamepads move the focus between tiles. */
export function TileSection(
  props: {
    /** name of the section, stored with the focused tile */
    name: string;
    title: string;
    count?: number | undefined;
    /** Short captions below the names, by app. */
    captions?: ReadonlyMap<string, string>;
    busy?: boolean;
    /** the tile that had the focus at the last visit */
    former: string | null;
    actions: TileActions;
  } & (
    | { layout: 'grid'; apps: readonly AppListItem[] }
    /** null: this app is still loading */
    | { layout: 'row'; apps: readonly (AppListItem | null)[] }
  ),
) {
  const { apps, name } = props;
  const [activeId, setActiveId] = useState<string | null>(props.former);
  const stop = apps.some((app) => app?.id === activeId) ? activeId : (apps.find(Boolean)?.id ?? null);
  const many = props.layout === 'grid' && props.apps.length > ALL_IN_DOCUMENT ? props.apps : null;
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
      {many !== null ? (
        <VirtualTiles {...list} apps={many} />
      ) : (
        <AllTiles {...list} apps={apps} captions={props.captions} layout={props.layout} />
      )}
    </section>
  );
}

function AllTiles(props: {
  apps: readonly (AppListItem | null)[];
  captions?: ReadonlyMap<string, string> | undefined;
  layout?: 'row' | 'grid';
  section: string;
  stop: string | null;
  actions: TileActions;
}) {
  return (
    <ul className={props.layout === 'row' ? styles.row : styles.grid}>
      {props.apps.map((app, index) =>
        app === null ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: placeholders have no identity
          <TileSkeleton key={index} hasCaption={props.captions !== undefined} />
        ) : (
          <Tile
            key={app.id}
            app={app}
            section={props.section}
            caption={props.captions?.get(app.id)}
            isStop={app.id === props.stop}
            actions={props.actions}
          />
        ),
      )}
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
          <TileSkeleton key={index} />
        ))}
      </ul>
    </section>
  );
}

function TileSkeleton({ hasCaption = false }: { hasCaption?: boolean }) {
  return (
    <li className={styles.cell}>
      <span className={styles.tilePicture} style={{ display: 'block' }}>
        <Skeleton height="100%" radius={14} />
      </span>
      <span className={styles.tileName}>
        <Skeleton width="70%" height={14} />
      </span>
      {hasCaption && <span className={styles.tileCaption}>&nbsp;</span>}
    </li>
  );
}
