import type { AppListItem } from '@footlight/protocol/rest';
import { useState } from 'react';
import { AppPicture } from '../components/app-picture.tsx';
import styles from './library.module.css';

/** The focused app's picture as the background of the page, with a cross-fade. */
export function Backdrop({ app }: { app: AppListItem | null }) {
  const [layers, setLayers] = useState<readonly AppListItem[]>([]);
  const top = layers.at(-1);
  if (app !== null && app.id !== top?.id) {
    // Keeps only two layers, because the upper layers cover the rest.
    setLayers([...layers.filter((each) => each.id !== app.id), app].slice(-2));
  }
  return (
    <div className={styles.backdrop} aria-hidden="true">
      {layers.map((each) => (
        <AppPicture key={each.id} app={each} shape="hero" className={styles.backdropPicture} />
      ))}
    </div>
  );
}
