import type { AppNotice } from '@footlight/protocol/input';
import type { Session } from '@footlight/protocol/rest';
import { LAUNCH_STEPS } from '@footlight/protocol/session-states';
import { t } from '../i18n/translate.ts';

/** One line of the launch list. */
export interface LaunchStep {
  key: string;
  label: string;
  state: 'done' | 'current' | 'ahead';
}

interface StepRule {
  key: string;
  /** Prefix with which the host reports this step; null: the host does not report it. */
  detail: string | null;
  label: (detail: string) => string;
  /** Shown before it is reached; other steps are shown only when the host reports them. */
  always: boolean;
}

const RULES: readonly StepRule[] = [
  { key: 'place', detail: null, label: () => t('Finding a machine'), always: true },
  {
    key: 'release',
    detail: LAUNCH_STEPS.waiting_home,
    label: () => t('Waiting for your last session to release its files'),
    always: false,
  },
  { key: 'home', detail: LAUNCH_STEPS.preparing_home, label: () => t('Preparing your files'), always: false },
  {
    key: 'image',
    detail: LAUNCH_STEPS.pulling_image,
    label: (detail) => {
      const percent = /(\d{1,3}) ?%/.exec(detail)?.[1];
      return percent === undefined ? t('Fetching the app') : t('Fetching the app, {percent} %', { percent });
    },
    always: false,
  },
  {
    key: 'display',
    detail: LAUNCH_STEPS.starting_display,
    label: () => t('Starting the display'),
    always: true,
  },
  { key: 'app', detail: LAUNCH_STEPS.starting_app, label: () => t('Starting the app'), always: true },
  {
    key: 'encoder',
    detail: LAUNCH_STEPS.starting_encoder,
    label: () => t('Starting the picture'),
    always: true,
  },
  {
    key: 'boot',
    detail: LAUNCH_STEPS.app_booting,
    label: () => t('Waiting for the app to draw'),
    always: true,
  },
  {
    key: 'presented',
    detail: LAUNCH_STEPS.app_presented,
    label: () => t('Connecting to the picture'),
    always: true,
  },
];

/** Progress of a launch: the furthest step, and details by step key. */
export interface LaunchProgress {
  reached: number;
  seen: Readonly<Record<string, string>>;
}

/** Progress before the first report. */
export const NO_PROGRESS: LaunchProgress = { reached: 0, seen: {} };

/**
 * Adds one session record to the progress. The progress never moves back, because reports may repeat after a reconnect.
 * Pure. Details that are no launch step change nothing; `running` completes all host steps.
 */
export function advance(
  progress: LaunchProgress,
  session: Pick<Session, 'state' | 'state_detail'>,
): LaunchProgress {
  const detail = session.state_detail ?? '';
  let at = RULES.findIndex((rule) => rule.detail !== null && detail.startsWith(rule.detail));
  const seen = at < 0 ? progress.seen : { ...progress.seen, [RULES[at]!.key]: detail };
  if (at < 0 && session.state === 'running' && progress.reached === 0) at = indexOf('presented');
  if (at < 0 && session.state === 'starting') at = Math.max(progress.reached, indexOf('display'));
  return { reached: Math.max(progress.reached, at, 0), seen };
}

/**
 * Steps to show: the completed ones, the current one in words, and the later ones. Steps that this launch does not need
 * are omitted.
 */
export function stepsOf(progress: LaunchProgress): LaunchStep[] {
  return RULES.flatMap((rule, index): LaunchStep[] => {
    const detail = progress.seen[rule.key];
    if (!rule.always && detail === undefined) return [];
    const state = index < progress.reached ? 'done' : index === progress.reached ? 'current' : 'ahead';
    return [{ key: rule.key, label: rule.label(detail ?? ''), state }];
  });
}

/**
 * Whether the picture is the app's own. Before the app draws, the page gets frames of the empty display.
 * @param app state of the app's start, reported by the host; null: unknown
 */
export function isDrawn(progress: LaunchProgress, app: AppNotice['state'] | null): boolean {
  return progress.reached === indexOf('presented') || (app !== null && app !== 'starting');
}

function indexOf(key: string): number {
  return RULES.findIndex((rule) => rule.key === key);
}
