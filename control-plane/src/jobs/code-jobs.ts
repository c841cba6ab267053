/**
 * All jobs that the code defines. At each start the stored rows are updated from this table; values that administrators
 * set stay. Source: docs/configuration.md, "Background jobs".
 */
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '@footlight/platform';
import type { AgentJobId } from '@footlight/protocol/agent';
import type { ControlJobId } from '../platform/platform.ts';

type Schedule = { kind: 'interval'; everyMs: number } | { kind: 'event' } | { kind: 'manual' };

export interface CodeJob {
  name: string;
  description: string;
  plane: 'control' | 'agent';
  scope: 'instance' | 'host';
  managed: boolean;
  /** The interval is only the initial one, because administrators can change it. */
  schedule: Schedule;
}

const every = (everyMs: number): Schedule => ({ kind: 'interval', everyMs });

const ofInstance = (schedule: Schedule, name: string, description: string): CodeJob => ({
  ...{ name, description, schedule, plane: 'control', scope: 'instance', managed: true },
});
const ofHosts = (schedule: Schedule, name: string, description: string): CodeJob => ({
  ...{ name, description, schedule, plane: 'agent', scope: 'host', managed: true },
});
const listedOnly = (
  plane: CodeJob['plane'],
  scope: CodeJob['scope'],
  name: string,
  description: string,
): CodeJob => ({ ...{ name, description, plane, scope }, managed: false, schedule: { kind: 'event' } });

/** Jobs that this service runs. */
const CONTROL_JOBS: Record<ControlJobId, CodeJob> = {
  'auth.token_janitor': ofInstance(every(6 * HOUR_MS), 'Expired sign-ins', 'Deletes sign-ins that expired.'),
  'database.backup': ofInstance(
    every(DAY_MS),
    'Backup',
    'Saves the database to a file, checks the file, and deletes the oldest backups.',
  ),
  'telemetry.retain': ofInstance(
    every(5 * MINUTE_MS),
    'Old measurements',
    'Deletes samples and events of sessions that are too old.',
  ),
  'storage.home_janitor': ofInstance(
    every(6 * HOUR_MS),
    'Records of lost homes',
    'Deletes records of homes whose host is gone.',
  ),
  'artwork.sweep': ofInstance(
    every(15 * MINUTE_MS),
    'Artwork search',
    'Looks up pictures for apps that have none.',
  ),
  'artwork.prune_orphans': ofInstance(
    { kind: 'manual' },
    'Artwork clean-up',
    'Deletes pictures that no app uses.',
  ),
  'library.discovery': ofInstance(
    every(6 * HOUR_MS),
    'Library discovery',
    'Has hosts scan the homes of library apps for games.',
  ),
  'devauth.reaper': ofInstance(
    every(60 * SECOND_MS),
    'Test accounts',
    'Deletes accounts of automated checks that expired.',
  ),
};

/** Jobs that agents run. */
const AGENT_JOBS: Record<AgentJobId, CodeJob> = {
  'template.warmup': ofHosts(
    { kind: 'event' },
    'Encoder warm-up',
    'Starts and stops a media worker for each installed image, so that a first launch finds driver and caches warm.',
  ),
  'home.gc': ofHosts(
    every(6 * HOUR_MS),
    'Deletion of homes',
    'Deletes the files of homes that are marked for deletion, after a day.',
  ),
};

/** Work that other parts start; it is listed only for the information of administrators. */
const LISTED_ONLY: Record<string, CodeJob> = {
  'images.provider_reconcile': listedOnly(
    'control',
    'instance',
    'Library provider',
    'Installs the image of a library provider and creates its app, when discovery is switched on.',
  ),
  'images.ensure_retry': listedOnly(
    'control',
    'instance',
    'Image retry',
    'Asks hosts again for installed images whose pull failed.',
  ),
  'images.registration_reconcile': listedOnly(
    'control',
    'instance',
    'Images of a host',
    'Compares the images of a host with the installed ones when its agent registers.',
  ),
  'session.start_watchdog': listedOnly(
    'control',
    'instance',
    'Start time limit',
    'Ends sessions that do not start in time.',
  ),
  'session.cert_bench': listedOnly(
    'control',
    'instance',
    'Certification cells',
    'Gives up measurements of encoders that nobody finished.',
  ),
  'console.selfheal': listedOnly(
    'control',
    'host',
    'Console start',
    'Starts the app of a console again after it ended.',
  ),
  'library.scanner': listedOnly(
    'agent',
    'host',
    'Library scanner',
    'Scans homes for games when it is asked to.',
  ),
  'console.hotplug_watcher': listedOnly(
    'agent',
    'host',
    'Display watcher',
    'Notices displays that are plugged in and out.',
  ),
  'images.workers': listedOnly('agent', 'host', 'Image workers', 'Pull, build and remove images.'),
};

/** All jobs, by id. */
export const CODE_JOBS: ReadonlyMap<string, CodeJob> = new Map(
  Object.entries({ ...CONTROL_JOBS, ...AGENT_JOBS, ...LISTED_ONLY }).sort(([a], [b]) => (a < b ? -1 : 1)),
);
