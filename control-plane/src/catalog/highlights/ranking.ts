/**
 * Ranks the apps that a person probably looks for. Pure.
 * Source: docs/people.md, "Highlights".
 */

import { SECOND_MS } from '@footlight/platform';
import type { Highlight } from '@footlight/protocol/rest';
import { instantOrNull } from '../../platform/database/index.ts';

/** Maximum number of highlights. */
export const MAX_HIGHLIGHTS = 5;
/** An enabled app that the person is entitled to. Times are epoch milliseconds. */
export interface CandidateApp {
  id: string;
  created_at: number;
}

/** A session in state `pending`, `assigned`, `starting` or `running`. */
export interface RunningSession {
  id: string;
  app_id: string;
  created_at: number;
  /** null: the session has not started. */
  started_at: number | null;
}

/** Summary of an app's sessions that did not fail. */
export interface PlayHistory {
  app_id: string;
  /** Time played within the window, milliseconds. */
  play_ms: number;
  /** Latest time of a stopping or stopped session; null: the app has no such session. */
  resumable_at: number | null;
  /** Latest end of a session; null: no session has ended. */
  last_played_at: number | null;
}

export interface HighlightFacts {
  apps: readonly CandidateApp[];
  live: readonly RunningSession[];
  history: readonly PlayHistory[];
}

/**
 * Ranks the candidates: live sessions, the most played app, apps to resume, then the newest. Each app appears once, for
 * its first reason. Sessions of other apps are ignored.
 * @returns at most five; an empty list when all of them would be listed only because they are new
 */
export function rankHighlights(facts: HighlightFacts): Highlight[] {
  const live = newestPerApp(facts.live);
  const history = new Map(facts.history.map((entry) => [entry.app_id, entry]));
  const playOf = (app: CandidateApp): number => history.get(app.id)?.play_ms ?? 0;

  const card = (app: CandidateApp, reason: Highlight['reason']): Highlight => {
    const session = reason === 'live' ? live.get(app.id) : undefined;
    return {
      app_id: app.id,
      reason,
      session_id: session?.id ?? null,
      session_started_at: instantOrNull(session?.started_at ?? null),
      play_seconds: Math.floor(playOf(app) / SECOND_MS),
      last_played_at: instantOrNull(history.get(app.id)?.last_played_at ?? null),
    };
  };

  const isLive = (app: CandidateApp): boolean => live.has(app.id);
  const others = facts.apps.filter((app) => !isLive(app));
  const [mostPlayed] = others.filter((app) => playOf(app) > 0).sort(greatestFirst(playOf));
  const rest = others.filter((app) => app !== mostPlayed);
  const resumable = (app: CandidateApp): number | null => history.get(app.id)?.resumable_at ?? null;

  const cards = [
    ...facts.apps
      .filter(isLive)
      .sort(greatestFirst((app) => live.get(app.id)?.created_at ?? 0))
      .map((app) => card(app, 'live')),
    ...(mostPlayed === undefined ? [] : [card(mostPlayed, 'most_played')]),
    ...rest
      .filter((app) => resumable(app) !== null)
      .sort(greatestFirst((app) => resumable(app) ?? 0))
      .map((app) => card(app, 'resume')),
    ...rest
      .filter((app) => resumable(app) === null)
      .sort(greatestFirst((app) => app.created_at))
      .map((app) => card(app, 'recently_added')),
  ].slice(0, MAX_HIGHLIGHTS);
  return cards.every(({ reason }) => reason === 'recently_added') ? [] : cards;
}

function newestPerApp(sessions: readonly RunningSession[]): Map<string, RunningSession> {
  const newest = new Map<string, RunningSession>();
  for (const session of sessions) {
    const known = newest.get(session.app_id);
    const isNewer =
      known === undefined ||
      session.created_at > known.created_at ||
      (session.created_at === known.created_at && session.id > known.id);
    if (isNewer) newest.set(session.app_id, session);
  }
  return newest;
}

/** Descending by a number, then ascending by id. */
const greatestFirst =
  (of: (app: CandidateApp) => number) =>
  (a: CandidateApp, b: CandidateApp): number =>
    of(b) - of(a) || (a.id < b.id ? -1 : 1);
