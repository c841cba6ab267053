/**
 * The commands for operations. Everything else about a command (flags, help, request) comes from the declaration of its
 * operation. Pure data.
 */
import type { OperationId } from '@footlight/protocol/rest';

/** Things that a command may name by their name instead of their id: the list with the names, and its fields. */
export const NAMED = {
  host: { list: 'hosts.list', fields: ['node_name'] },
  user: { list: 'users.list', fields: ['username', 'email'] },
  app: { list: 'admin.apps.list', fields: ['name'] },
} as const satisfies Record<string, { list: OperationId; fields: readonly string[] }>;

export interface CommandRow {
  readonly noun: string;
  readonly verb: string;
  readonly id: OperationId;
  /** What the first argument names; missing: it is an id or another text. */
  readonly named?: keyof typeof NAMED;
  /** Fields of a list's table, separated by blanks; a dot goes into an object. */
  readonly columns?: string;
  /** Members of the body that the command itself sets. */
  readonly sets?: { readonly [field: string]: unknown };
  /** The only fields that get flags; missing: all fields that the command does not set. */
  readonly only?: readonly string[];
}

/** The nouns with their descriptions, in the order of the help. */
export const NOUNS: Readonly<Record<string, string>> = {
  hosts: 'Hosts: list, add, drain, settings',
  sessions: 'Sessions: list, end, find out why one failed',
  users: 'Accounts and invites',
  apps: 'Apps, and who may launch them',
  images: 'App images of the catalog',
  profiles: 'Launch profiles and the policy for choosing one',
  presets: 'Start settings that several apps share',
  library: 'Discovery of games',
  storage: 'Homes: files of people for apps',
  jobs: 'Background jobs',
  backups: 'Backups of the database',
  config: 'Settings and secrets of the instance',
  activity: 'What was changed, by whom and when',
};

const RUN_COLUMNS = 'state trigger started_at duration_ms host_id error id';
const USER_COLUMNS = 'username email role disabled active_session_count created_at id';
const INVITE_COLUMNS = 'note role used_count max_uses expires_at revoked_at created_by_username id';

export const COMMANDS: readonly CommandRow[] = [
  {
    noun: 'hosts',
    verb: 'list',
    id: 'hosts.list',
    columns:
      'node_name status capacity.slots_used capacity.slots_total capacity_detection agent_version last_heartbeat_at id',
  },
  { noun: 'hosts', verb: 'show', id: 'hosts.read', named: 'host' },
  {
    noun: 'hosts',
    verb: 'gpus',
    id: 'hosts.gpus',
    named: 'host',
    columns: 'gpu_index model slots_reserved slots_total active_sessions vram_mb_used vram_mb_total',
  },
  { noun: 'hosts', verb: 'load', id: 'hosts.load', named: 'host' },
  { noun: 'hosts', verb: 'add', id: 'enrollmentTokens.create' },
  {
    noun: 'hosts',
    verb: 'tokens',
    id: 'enrollmentTokens.list',
    columns: 'note node_name created_at expires_at used_at id',
  },
  { noun: 'hosts', verb: 'revoke-token', id: 'enrollmentTokens.delete' },
  { noun: 'hosts', verb: 'drain', id: 'hosts.drain', named: 'host' },
  { noun: 'hosts', verb: 'uncordon', id: 'hosts.uncordon', named: 'host' },
  { noun: 'hosts', verb: 'restart', id: 'hosts.restart', named: 'host' },
  { noun: 'hosts', verb: 'delete', id: 'hosts.delete', named: 'host' },
  { noun: 'hosts', verb: 'settings', id: 'hostSettings.read', named: 'host' },
  { noun: 'hosts', verb: 'set', id: 'hostSettings.update', named: 'host' },
  { noun: 'hosts', verb: 'console', id: 'hostConsole.read', named: 'host' },
  { noun: 'hosts', verb: 'set-console', id: 'hostConsole.update', named: 'host' },
  {
    noun: 'hosts',
    verb: 'certifications',
    id: 'certification.list',
    named: 'host',
    columns: 'gpu_index encoder stream_profile_id bitrate_kbps verdict encode_ms_p95 output_fps measured_at',
  },
  {
    noun: 'sessions',
    verb: 'list',
    id: 'admin.sessions.list',
    columns: 'state app_name username host_name created_at ended_at failure_code id',
  },
  { noun: 'sessions', verb: 'show', id: 'sessions.read' },
  { noun: 'sessions', verb: 'end', id: 'sessions.delete' },
  { noun: 'sessions', verb: 'placement', id: 'admin.sessions.placement' },
  { noun: 'sessions', verb: 'preview', id: 'admin.placement.preview' },
  { noun: 'sessions', verb: 'verdict', id: 'admin.sessions.verdict' },
  { noun: 'sessions', verb: 'diagnostics', id: 'admin.sessions.diagnosticBundle' },
  { noun: 'sessions', verb: 'recordings', id: 'admin.sessions.recordings.list' },
  { noun: 'users', verb: 'list', id: 'users.list', columns: USER_COLUMNS },
  { noun: 'users', verb: 'update', id: 'users.update', named: 'user' },
  {
    noun: 'users',
    verb: 'disable',
    id: 'users.update',
    named: 'user',
    sets: { disabled: true },
    only: ['end_sessions'],
  },
  { noun: 'users', verb: 'enable', id: 'users.update', named: 'user', sets: { disabled: false }, only: [] },
  { noun: 'users', verb: 'delete', id: 'users.delete', named: 'user' },
  { noun: 'users', verb: 'reset-password', id: 'users.passwordReset', named: 'user' },
  { noun: 'users', verb: 'entitlements', id: 'users.entitlements', named: 'user' },
  { noun: 'users', verb: 'invites', id: 'invites.list', columns: INVITE_COLUMNS },
  { noun: 'users', verb: 'create-invite', id: 'invites.create' },
  { noun: 'users', verb: 'revoke-invite', id: 'invites.revoke' },
  { noun: 'apps', verb: 'list', id: 'admin.apps.list', columns: 'name kind enabled id' },
  { noun: 'apps', verb: 'show', id: 'apps.read', named: 'app' },
  { noun: 'apps', verb: 'create', id: 'apps.create' },
  { noun: 'apps', verb: 'update', id: 'apps.update', named: 'app' },
  { noun: 'apps', verb: 'enable', id: 'apps.update', named: 'app', sets: { enabled: true }, only: [] },
  { noun: 'apps', verb: 'disable', id: 'apps.update', named: 'app', sets: { enabled: false }, only: [] },
  { noun: 'apps', verb: 'delete', id: 'apps.delete', named: 'app' },
  {
    noun: 'apps',
    verb: 'entitlements',
    id: 'entitlements.list',
    named: 'app',
    columns: 'subject_type subject_id created_at id',
  },
  { noun: 'apps', verb: 'grant', id: 'entitlements.grant', named: 'app' },
  { noun: 'apps', verb: 'revoke', id: 'entitlements.revoke', named: 'app' },
  {
    noun: 'images',
    verb: 'list',
    id: 'images.list',
    columns: 'id display_name version installed installed_version update_available pinned',
  },
  { noun: 'images', verb: 'sync', id: 'images.sync' },
  { noun: 'images', verb: 'install', id: 'images.install' },
  { noun: 'images', verb: 'update', id: 'images.update' },
  { noun: 'images', verb: 'uninstall', id: 'images.uninstall' },
  { noun: 'images', verb: 'pin', id: 'images.pin' },
  { noun: 'images', verb: 'unpin', id: 'images.unpin' },
  {
    noun: 'profiles',
    verb: 'list',
    id: 'launchProfiles.list',
    columns: 'id display_name visibility sort_order',
  },
  { noun: 'profiles', verb: 'show', id: 'launchProfiles.read' },
  { noun: 'profiles', verb: 'policy', id: 'profilePolicy.read' },
  { noun: 'profiles', verb: 'set-policy', id: 'profilePolicy.update' },
  { noun: 'presets', verb: 'list', id: 'runtimePresets.list', columns: 'name description image id' },
  { noun: 'presets', verb: 'show', id: 'runtimePresets.read' },
  { noun: 'presets', verb: 'delete', id: 'runtimePresets.delete' },
  { noun: 'library', verb: 'status', id: 'library.status' },
  { noun: 'library', verb: 'scan', id: 'library.scan' },
  { noun: 'storage', verb: 'homes', id: 'admin.storage.homes.list' },
  { noun: 'storage', verb: 'delete-home', id: 'admin.storage.homes.delete' },
  {
    noun: 'jobs',
    verb: 'list',
    id: 'admin.jobs.list',
    columns: 'id enabled running last_run.state last_run.finished_at next_run_at consecutive_failures',
  },
  { noun: 'jobs', verb: 'show', id: 'admin.jobs.read' },
  { noun: 'jobs', verb: 'run', id: 'admin.jobs.run' },
  { noun: 'jobs', verb: 'runs', id: 'admin.jobs.runs', columns: RUN_COLUMNS },
  { noun: 'jobs', verb: 'update', id: 'admin.jobs.update' },
  {
    noun: 'backups',
    verb: 'list',
    id: 'admin.backups.list',
    columns: 'name created_at bytes reason verified release',
  },
  { noun: 'backups', verb: 'create', id: 'admin.backups.create' },
  { noun: 'backups', verb: 'download', id: 'admin.backups.download' },
  { noun: 'backups', verb: 'delete', id: 'admin.backups.delete' },
  { noun: 'config', verb: 'show', id: 'settings.read' },
  { noun: 'config', verb: 'set', id: 'settings.update' },
  {
    noun: 'config',
    verb: 'host-settings',
    id: 'configCatalog.read',
    columns: 'key type default nullable class env_var',
  },
  { noun: 'config', verb: 'secrets', id: 'secrets.list' },
  { noun: 'config', verb: 'set-secret', id: 'secrets.set' },
  { noun: 'config', verb: 'clear-secret', id: 'secrets.clear' },
  { noun: 'config', verb: 'webhook', id: 'admin.webhook.status' },
  {
    noun: 'activity',
    verb: 'list',
    id: 'activity.list',
    columns: 'created_at severity action actor_username target_type target_id',
  },
];

/** The operation that `footlight certify` starts with. */
export const CERTIFY: CommandRow = {
  noun: 'certify',
  verb: '',
  id: 'certification.startRun',
  named: 'host',
};

/** Commands of the machine that runs the control plane. They need its files, so they are separate programs. */
export const LOCAL_COMMANDS: Readonly<Record<string, string>> = {
  install: 'Install the service, or change its variables',
  upgrade: 'Install a newer package, and put the former one back if it does not run',
  backup: 'Save the database into a file',
  restore: 'Restore a backup',
  audit: 'Check whether the activity log was changed, or export it',
  '--print-config': 'Show the configuration, with secrets masked',
};
