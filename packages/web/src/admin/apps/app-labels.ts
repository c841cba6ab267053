import type { AdminApp } from '@footlight/protocol/rest';
import { t } from '../../i18n/translate.ts';

/**
 * The way in which an app runs, in a few words.
 * @param parentName name of a tile's parent; undefined: unknown
 */
export function runsAsLabel(
  app: Pick<AdminApp, 'parent_app_id' | 'runtime_preset_id' | 'runtime_spec'>,
  parentName: string | undefined,
): string {
  if (app.parent_app_id !== null)
    return parentName === undefined
      ? t('Part of a launcher')
      : t('Part of {launcher}', { launcher: parentName });
  if (app.runtime_spec.image) return t('Container');
  // The preset chooses the image, and a change of the preset can change this choice.
  return app.runtime_preset_id === null ? t('Process') : t('As its preset says');
}
