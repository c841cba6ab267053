import type { AppListItem } from '@footlight/protocol/rest';
import { IconStar, IconStarFilled } from '@tabler/icons-react';
import { type CSSProperties, memo, useEffect, useRef } from 'react';
import { AppPicture } from '../components/app-picture.tsx';
import { t } from '../words/words.ts';
import styles from './library.module.css';

/** What a person does with a tile. The same functions at every render, so that a tile renders only when it changes. */
export interface TileActions {
  onLaunch: (app: AppListItem) => void;
  onFocusApp: (app: AppListItem, section: string) => void;
  onRestApp: (app: AppListItem) => void;
  /** the tile came into the document */
  onAppear: (tile: HTMLElement, app: AppListItem, section: string) => void;
  onFavourite: (mark: { id: string; favourite: boolean }) => void;
}

/** One app: its picture launches it, and its star or the key F marks it. */
export const Tile = memo(function Tile(props: {
  app: AppListItem;
  section: string;
  caption?: string | undefined;
  isStop: boolean;
  place?: CSSProperties;
  /** Position in the whole list, from 1; only a part of the list is in the document. */
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
        aria-keyshortcuts="f"
        onFocus={() => actions.onFocusApp(app, section)}
        onPointerEnter={() => actions.onRestApp(app)}
        onClick={() => actions.onLaunch(app)}
        onKeyDown={(event) => {
          if (event.key !== 'f' || event.ctrlKey || event.metaKey || event.altKey) return;
          event.preventDefault();
          mark();
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
        {app.favourite ? <IconStarFilled size={18} /> : <IconStar size={18} />}
      </button>
    </li>
  );
});
