import type { Executor } from '../platform/database/index.ts';
import { type AppChoice, profileWithoutChoice } from './app-choice.ts';
import { loadFirstRungs, loadPolicy, type StreamNumbers } from './store.ts';

/** Numbers of the first rung that a launch without a choice would stream; null: the app's own apply. */
export type DisplayStreams = (app: AppChoice) => StreamNumbers | null;

/** Reads once what every app of a list is shown with. */
export async function loadDisplayStreams(db: Executor): Promise<DisplayStreams> {
  const firstRungs = await loadFirstRungs(db);
  const { globalDefaultProfileId } = await loadPolicy(db);
  return (app) => firstRungs.get(profileWithoutChoice(app, globalDefaultProfileId) ?? '') ?? null;
}
