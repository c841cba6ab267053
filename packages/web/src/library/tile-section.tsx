import type { AppListItem } from '@footlight/protocol/rest';
import { IconStar, IconStarFilled } from '@tabler/icons-react';
import { useState } from 'react';
import { AppPicture } from '../components/app-picture.tsx';
import { Skeleton } from '../components/skeleton.tsx';
import styles from './library.module.css';

/** A row or grid of tiles with one tab stop; the page handles arrow keys. */
export function TileSection(props: {
  title: string;
  count?: number | undefined;
  apps: readonly AppListItem[];
  /** Short captions below the names, by app. */
  captions?: ReadonlyMap<string, string>;
  layout: 'row' | 'grid';
  busy?: boolean;
  onLaunch: (app: AppListItem) => void;
  onFocusApp: (app: AppListItem) => void;
  onFavourite: (mark: { id: string; favourite: boolean }) => void;
}) {
  const [activeId, setActiveId] = useState<string | null>(null);
  const stop = props.apps.some((app) => app.id === activeId) ? activeId : props.apps[0]?.id;
  return (
    <section className={styles.section} aria-label={props.title} aria-busy={props.busy ?? false}>
      <h2>
        {props.title}
        {props.count !== undefined && <span className={`${styles.count} tabular`}>{props.count}</span>}
      </h2>
      <ul className={props.layout === 'row' ? styles.row : styles.grid}>
        {props.apps.map((app) => (
          <li key={app.id} className={styles.cell}>
            <button
              type="button"
              className={styles.tile}
              data-tile=""
              tabIndex={app.id === stop ? 0 : -1}
              aria-label={`Launch ${app.name}`}
              onFocus={() => {
                setActiveId(app.id);
                props.onFocusApp(app);
              }}
              onPointerEnter={() => props.onFocusApp(app)}
              onClick={() => props.onLaunch(app)}
              aria-keyshortcuts="f"
              onKeyDown={(event) => {
                if (event.key !== 'f' || event.ctrlKey || event.metaKey || event.altKey) return;
                props.onFavourite({ id: app.id, favourite: !app.favourite });
              }}
            >
              <AppPicture app={app} shape="cover" className={styles.tilePicture} />
              <span className={styles.tileName}>{app.name}</span>
              {props.captions !== undefined && (
                <span className={styles.tileCaption}>{props.captions.get(app.id)}</span>
              )}
            </button>
            {/* Not a tab stop, because the row has one; the keyboard uses F on the tile. */}
            <button
              type="button"
              className={styles.favourite}
              tabIndex={-1}
              aria-pressed={app.favourite}
              aria-label={`Favourite: ${app.name}`}
              onClick={() => props.onFavourite({ id: app.id, favourite: !app.favourite })}
            >
              {app.favourite ? <IconStarFilled size={18} /> : <IconStar size={18} />}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Placeholders of the library. */
export function TileSkeletons({ count }: { count: number }) {
  return (
    <section className={styles.section} aria-label="Your apps" aria-busy="true">
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
