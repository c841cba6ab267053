/**
 * Computes the verdict on the viewer's device from the seconds that its player reports.
 *
 *     none ──20 s decode_degrading or client_unsupported──► client_decode_degrading
 *     none ──20 s presentation_degrading──► client_presentation_degrading
 *     both ──30 s smooth──► none, and either ──20 s of the other──► the other
 *
 * A second of another kind ends a run. Hidden seconds are ignored. A gap ends the run and the verdict, because a device
 * that was not measured must not count as bad.
 *
 * Pure; never throws. Times are milliseconds of the viewer's clock; only their differences are used. Source:
 * docs/sessions.md, "Health".
 */
import { MINUTE_MS, SECOND_MS } from '@footlight/platform';
import type { ClientHealth, HealthState } from '@footlight/protocol/telemetry';
import type { ViewerSecond } from '../../telemetry/index.ts';

export type ViewerState = Extract<HealthState, 'client_decode_degrading' | 'client_presentation_degrading'>;

type Kind = 'decode' | 'presentation' | 'smooth';

export interface ViewerHealth {
  /** null: there is no verdict. */
  readonly state: ViewerState | null;
  /** Text from the viewer; null: the viewer sent no reason, or there is no verdict. */
  readonly reason: string | null;
  /** Current run: uninterrupted visible time of one kind; null: there is no run. */
  readonly run: { readonly kind: Kind; readonly ms: number } | null;
  /** Time of the newest second; null: no second was reported. */
  readonly newestMs: number | null;
  /** The newest second was hidden. */
  readonly isHidden: boolean;
}

export const UNWATCHED: ViewerHealth = {
  state: null,
  reason: null,
  run: null,
  newestMs: null,
  isHidden: false,
};

const DEGRADED_AFTER_MS = 20 * SECOND_MS;
const CLEARED_AFTER_MS = 30 * SECOND_MS;
/**
 * A longer time between two seconds, or between two posts, is a gap. Players post every 5 s, so in a gap three posts
 * are missing.
 */
export const MAX_VIEWER_GAP_MS = 15 * SECOND_MS;
/**
 * Players keep two minutes of unanswered seconds and repeat them. An older second comes from a clock that was set back.
 */
export const MAX_REPEATED_MS = 2 * MINUTE_MS;

const KINDS: Readonly<Record<Exclude<ClientHealth, 'backgrounded_or_hidden'>, Kind>> = {
  smooth: 'smooth',
  decode_degrading: 'decode',
  client_unsupported: 'decode',
  presentation_degrading: 'presentation',
};

const STATES: Readonly<Record<Exclude<Kind, 'smooth'>, ViewerState>> = {
  decode: 'client_decode_degrading',
  presentation: 'client_presentation_degrading',
};

export interface JudgedSecond {
  health: ViewerHealth;
  /** The verdict during this second; null: there was none. */
  during: ViewerState | null;
  /** Visible time that the second adds, ms, at most 1,000; 0 for a hidden or repeated second. */
  provedMs: number;
}

/** Returns the verdict after one more second. Call this with the seconds of a post in the order of their times. */
export function judgeSecond(known: ViewerHealth, second: Omit<ViewerSecond, 'deviceKey'>): JudgedSecond {
  const { tsMs, health } = second;
  const isRepeat =
    known.newestMs !== null && tsMs <= known.newestMs && known.newestMs - tsMs <= MAX_REPEATED_MS;
  if (isRepeat) return { health: known, during: known.state, provedMs: 0 };
  const before = isContinued(known, tsMs) ? known : UNWATCHED;
  if (health === 'backgrounded_or_hidden')
    return { health: { ...before, newestMs: tsMs, isHidden: true }, during: before.state, provedMs: 0 };
  const provedMs = before.newestMs === null ? SECOND_MS : Math.min(SECOND_MS, tsMs - before.newestMs);
  const kind = KINDS[health];
  const run = { kind, ms: (before.run?.kind === kind ? before.run.ms : 0) + provedMs };
  return {
    health: { ...verdictOf(before, run, second.reason), run, newestMs: tsMs, isHidden: false },
    during: before.state,
    provedMs,
  };
}

/**
 * The state after the viewer disconnected, or reported nothing for longer than a gap. It keeps only the time that
 * identifies repeated seconds.
 */
export const withoutViewer = ({ newestMs }: ViewerHealth): ViewerHealth => ({ ...UNWATCHED, newestMs });

/**
 * Whether a second follows the known ones without a gap. A hidden page may report nothing for longer, because browsers
 * slow down its timers.
 */
function isContinued({ newestMs, isHidden }: ViewerHealth, tsMs: number): boolean {
  if (newestMs === null || tsMs < newestMs) return false;
  return isHidden || tsMs - newestMs <= MAX_VIEWER_GAP_MS;
}

function verdictOf(
  before: ViewerHealth,
  run: { kind: Kind; ms: number },
  reason: string | null,
): Pick<ViewerHealth, 'state' | 'reason'> {
  if (run.kind === 'smooth')
    return run.ms >= CLEARED_AFTER_MS
      ? { state: null, reason: null }
      : { state: before.state, reason: before.reason };
  const state = STATES[run.kind];
  // Keep the reason of the first verdict, because event streams are notified of changed verdicts, not of every second.
  if (run.ms < DEGRADED_AFTER_MS || before.state === state)
    return { state: before.state, reason: before.reason };
  return { state, reason };
}
