import type { DisplayStreams } from '../../catalog/index.ts';
import type { Executor } from '../../platform/database/index.ts';
import { profileWithoutChoice } from '../offer/app-choice.ts';
import { loadFirstRungs, loadPolicy } from '../store.ts';

/** Reads in one step the streams that all apps of a list show. */
export async function loadDisplayStreams(db: Executor): Promise<DisplayStreams> {
  const [firstRungs, { globalDefaultProfileId }] = await Promise.all([loadFirstRungs(db), loadPolicy(db)]);
  return (app) => firstRungs.get(profileWithoutChoice(app, globalDefaultProfileId) ?? '') ?? null;
}
