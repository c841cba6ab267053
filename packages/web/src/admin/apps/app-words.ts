import type { AdminApp } from '@footlight/protocol/rest';

/**
 * What an app runs as, in a few words.
 * @param parentName of a part of a launcher; undefined: not known here
 */
export function runsAsWords(
  app: Pick<AdminApp, 'parent_app_id' | 'runtime_preset_id' | 'runtime_spec'>,
  parentName: string | undefined,
): string {
  if (app.parent_app_id !== null)
    return parentName === undefined ? 'Part of a launcher' : `Part of ${parentName}`;
  if (app.runtime_spec.image) return 'Container';
  // Whether that names an image is the preset's own affair, and can change at any time.
  return app.runtime_preset_id === null ? 'Process' : 'As its preset says';
}
