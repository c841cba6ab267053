import type { ArtworkWidth } from '@footlight/protocol/rest';
import { useMemo, useState } from 'react';
import { initialOf } from '../theme/poster.ts';
import styles from './components.module.css';
import { posterImage } from './poster-image.ts';

interface PictureApp {
  id: string;
  name: string;
  cover_url?: string | null;
  hero_url?: string | null;
}

/** Addresses of pictures that the server also serves in smaller widths. */
const ASSET_PATH = /^\/v1\/artwork\/[0-9a-f]{64}\.(jpg|png|webp)$/;
const WIDTHS: readonly ArtworkWidth[] = [300, 600, 1200];
/** Width at which a picture is shown. Browsers that support `auto` measure the width. */
const WIDTHS_SHOWN = { cover: 'auto, 220px', hero: 'auto, 100vw' };

const assetSizes = (path: string) => ({
  src: `${path}?w=600`,
  srcSet: WIDTHS.map((width) => `${path}?w=${width} ${width}w`).join(', '),
});

/**
 * An app's picture: its artwork on this server, otherwise a drawing that is generated from the app's id. On a cover, it
 * shows the first letter of the app's name. Pictures of other origins are never loaded, because a request would tell
 * the other server who opens the library.
 */
export function AppPicture(props: {
  app: PictureApp;
  shape: 'cover' | 'hero';
  className?: string | undefined;
}) {
  const { app, shape } = props;
  const [broken, setBroken] = useState<string | null>(null);
  const address = ownPath(shape === 'cover' ? app.cover_url : app.hero_url);
  const shown = address !== null && address !== broken;
  const sizes =
    shown && ASSET_PATH.test(address) ? { ...assetSizes(address), sizes: WIDTHS_SHOWN[shape] } : {};
  const { id, name } = app;
  const drawn = useMemo(() => (shown ? {} : { background: posterImage(id, shape) }), [shown, id, shape]);
  return (
    <span
      className={`${styles.picture} ${props.className ?? ''}`}
      style={drawn}
      data-initial={shown || shape === 'hero' ? undefined : initialOf(name)}
      aria-hidden="true"
    >
      {shown && (
        <img
          src={address}
          {...sizes}
          alt=""
          loading="lazy"
          decoding="async"
          onError={() => setBroken(address)}
        />
      )}
    </span>
  );
}

/** The URL if it is on this origin, else null. */
export function ownPath(address: string | null | undefined): string | null {
  if (address === null || address === undefined || address === '') return null;
  try {
    const url = new URL(address, window.location.origin);
    return url.origin === window.location.origin ? url.pathname + url.search : null;
  } catch {
    return null;
  }
}
