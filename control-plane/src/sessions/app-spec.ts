/**
 * Computes the spec that an agent runs: the app's own spec merged over the spec of its preset. A tile uses the spec of
 * its parent. Pure. The spec is merged for each launch and never stored.
 */

import { cutUtf8 } from '@footlight/protocol';
import type { AppSpec, HomeSpec, SessionAssign } from '@footlight/protocol/agent';
import { DEFAULT_HOME_PATH } from '@footlight/protocol/app-defaults';
import type { AppFields, PresetFields } from '../catalog/index.ts';

/** Content of a session_assign command, without the envelope. */
export type Assignment = Omit<SessionAssign, 'id' | 'type'>;

/** Runtime settings of an app, or of a tile's parent. */
export type RuntimeFacts = Pick<
  AppFields,
  'runtime_spec' | 'managed_home' | 'home_container_path' | 'home_base'
>;

export type PresetFacts = Omit<PresetFields, 'name' | 'description'>;

export interface TileFacts {
  source: string;
  external_id: string;
}

/** The finished merge, before a home is attached. */
export interface MergedRuntime {
  app: Omit<AppSpec, 'home'>;
  runtime: 'process' | 'container';
  managed_home: boolean;
  home_container_path: string;
  /** null: homes start empty. */
  home_base: string | null;
}

const MAX_LABEL_BYTES = 128;

/** Name of the image that an app runs; "": the app runs as a process. */
export const imageName = (
  { runtime_spec }: Pick<RuntimeFacts, 'runtime_spec'>,
  preset: Pick<PresetFacts, 'image'> | null,
): string => runtime_spec.image || preset?.image || '';

/**
 * Merges the runtime spec of an app.
 * @param preset null: the app has no preset
 * @param tile null: the app itself is launched; otherwise the app is the tile's parent, and the tile adds its start
 *   variables
 * @param label name of the launched app
 * @returns null when a launch must not use the network that the spec names
 */
export function mergeRuntime(
  owner: RuntimeFacts,
  preset: PresetFacts | null,
  tile: TileFacts | null,
  label: string,
): MergedRuntime | null {
  const spec = owner.runtime_spec;
  const network = spec.network || preset?.network || '';
  if (network !== '' && network !== 'none' && network !== 'bridge') return null;
  const image = imageName(owner, preset);
  const env = new Map([...Object.entries(preset?.env ?? {}), ...Object.entries(spec.env ?? {})]);
  if (tile !== null && tile.source === 'steam')
    env.set('STEAM_STARTUP_FLAGS', `-bigpicture -applaunch ${tile.external_id}`);
  return {
    app: {
      image,
      args: [...(preset?.args ?? []), ...(spec.args ?? [])],
      env: Object.fromEntries(env),
      mounts: [...(preset?.mounts ?? []), ...(spec.mounts ?? [])],
      gpu: spec.gpu ?? false,
      ...(network !== '' && { network }),
      ...(spec.no_new_privileges === true && { no_new_privileges: true }),
      ...(spec.systempaths_unconfined === true && { systempaths_unconfined: true }),
      ...(tile !== null && { tile: { source: tile.source, external_id: tile.external_id } }),
      label: cutUtf8(label, MAX_LABEL_BYTES),
    },
    runtime: image === '' ? 'process' : 'container',
    managed_home: owner.managed_home || (preset?.managed_home ?? false),
    home_container_path: homeContainerPath(owner.home_container_path, preset?.home_container_path ?? null),
    home_base: owner.home_base,
  };
}

/**
 * Path at which an app sees its home: the app's own path or, if that is blank or the default, the path of its preset.
 * @param presetPath null: the app has no preset
 */
export function homeContainerPath(ownPath: string, presetPath: string | null): string {
  if (presetPath !== null && (ownPath.trim() === '' || ownPath === DEFAULT_HOME_PATH))
    return presetPath || DEFAULT_HOME_PATH;
  return ownPath || DEFAULT_HOME_PATH;
}

/** The complete spec of a session. @param home null: the agent creates an empty home and deletes it with the session */
export function withHome(merged: MergedRuntime, home: Pick<HomeSpec, 'provider' | 'ref'> | null): AppSpec {
  if (home === null) return merged.app;
  return {
    ...merged.app,
    home: {
      provider: home.provider,
      ref: home.ref,
      container_path: merged.home_container_path,
      ...(merged.home_base !== null && { base: merged.home_base }),
    },
  };
}
