import type { ArtworkApp } from '../store.ts';

/** How an app's title is looked up. nothing: the app is not looked up. */
export type Lookup = { by: 'nothing' } | { by: 'steam'; steamId: string } | { by: 'name'; name: string };

/**
 * An app from a shop is looked up only by the shop's id, because names are ambiguous. Desktops and launchers are not
 * looked up. Pure.
 */
export function decideLookup(
  app: Pick<ArtworkApp, 'name' | 'kind' | 'external_source' | 'external_id'>,
): Lookup {
  if (app.external_source === 'steam') {
    return app.external_id === '' ? { by: 'nothing' } : { by: 'steam', steamId: app.external_id };
  }
  if (app.kind !== 'game') return { by: 'nothing' };
  return { by: 'name', name: app.name };
}
