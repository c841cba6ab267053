import { accountOperations } from './accounts/accounts.ts';
import { devOperations } from './accounts/dev.ts';
import { inviteOperations } from './accounts/invites.ts';
import { meOperations } from './accounts/me.ts';
import { oidcOperations } from './accounts/oidc.ts';
import { setupOperations } from './accounts/setup.ts';
import { userOperations } from './accounts/users.ts';
import { activityOperations } from './activity.ts';
import { captureOperations } from './captures.ts';
import { artworkOperations } from './catalog/artwork.ts';
import { catalogOperations } from './catalog/catalog.ts';
import { imageOperations } from './catalog/images.ts';
import { libraryOperations } from './catalog/library.ts';
import { presetOperations } from './catalog/presets.ts';
import { profileOperations } from './catalog/profiles.ts';
import { certificationOperations } from './fleet/certification.ts';
import { fleetOperations } from './fleet/fleet.ts';
import { hostConsoleOperations } from './fleet/host-console.ts';
import { hostLoadOperations } from './fleet/host-load.ts';
import { hostSettingsOperations } from './fleet/host-settings.ts';
import { placementOperations } from './fleet/placement.ts';
import { preflightOperations } from './fleet/preflight.ts';
import { guestOperations } from './guests.ts';
import type { OperationDeclaration } from './operation.ts';
import { recordingOperations } from './recordings.ts';
import { secretOperations } from './secrets.ts';
import { serviceOperations } from './service.ts';
import { sessionOperations } from './sessions.ts';
import { settingsOperations } from './settings.ts';
import { telemetryOperations } from './telemetry.ts';
import { traceOperations } from './trace.ts';
import { backupOperations } from './upkeep/backups.ts';
import { deletionOperations } from './upkeep/deletions.ts';
import { jobOperations } from './upkeep/jobs.ts';
import { storageOperations } from './upkeep/storage.ts';
import { webhookOperations } from './upkeep/webhook.ts';
import { verdictOperations } from './verdict.ts';

/**
 * Version of the contract. Additions raise the minor version. An operation is marked as deprecated for at least two
 * minor versions before it is removed.
 */
export const CONTRACT_VERSION = '0.1.0';

/** A group of operations, with the name and the description that the published contract shows. */
export interface Area {
  readonly name: string;
  readonly summary: string;
  readonly operations: { readonly [id: string]: OperationDeclaration };
}

/** All areas, in the order of the published contract. */
export const areas = [
  {
    name: 'Service',
    summary: 'Whether the service is well, and this contract.',
    operations: serviceOperations,
  },
  {
    name: 'Setup',
    summary: 'First set-up: from an empty instance to one with an administrator.',
    operations: setupOperations,
  },
  {
    name: 'Accounts',
    summary: 'Signing up, in and out, and how the service is reached.',
    operations: { ...accountOperations, ...oidcOperations },
  },
  {
    name: 'Me',
    summary:
      'What belongs to the account of the caller: password, devices, preferences, storage, favourites.',
    operations: meOperations,
  },
  { name: 'Users', summary: 'The accounts of the instance, for administrators.', operations: userOperations },
  { name: 'Invites', summary: 'Codes that let people register.', operations: inviteOperations },
  {
    name: 'Catalog',
    summary: 'Apps, and who may see and launch them.',
    operations: catalogOperations,
  },
  {
    name: 'Library',
    summary: 'Games that are found in homes, and which of them become apps.',
    operations: libraryOperations,
  },
  { name: 'Artwork', summary: 'Covers and heroes of apps.', operations: artworkOperations },
  {
    name: 'Presets',
    summary: 'Ways of running an app that several apps share.',
    operations: presetOperations,
  },
  {
    name: 'Images',
    summary: 'App images of the catalog: installation, updates, and what hosts have of them.',
    operations: imageOperations,
  },
  {
    name: 'Profiles',
    summary: 'Launch profiles and the streams that they are made of.',
    operations: profileOperations,
  },
  {
    name: 'Sessions',
    summary: 'Launching apps, following and ending what runs, and the socket of the viewer.',
    operations: { ...sessionOperations, ...placementOperations },
  },
  {
    name: 'Guests',
    summary: 'Links with which people without an account watch or control a session.',
    operations: guestOperations,
  },
  {
    name: 'Telemetry',
    summary: 'Measurements and events of sessions, as hosts and viewers report them.',
    operations: {
      ...telemetryOperations,
      ...traceOperations,
      ...verdictOperations,
      ...captureOperations,
    },
  },
  {
    name: 'Recordings',
    summary: 'The last minute of sessions that are recorded, for administrators.',
    operations: recordingOperations,
  },
  {
    name: 'Fleet',
    summary: 'Hosts, their GPUs, their enrollment, and the socket of the agent.',
    operations: { ...fleetOperations, ...hostLoadOperations, ...preflightOperations },
  },
  {
    name: 'Host settings',
    summary: 'What administrators set for one host, its restart, and the display attached to it.',
    operations: { ...hostSettingsOperations, ...hostConsoleOperations },
  },
  {
    name: 'Certification',
    summary: 'What the encoders of a host can sustain, measured before anybody launches.',
    operations: certificationOperations,
  },
  {
    name: 'Storage',
    summary: 'Homes: the files that people keep for apps, and their deletion by the hosts.',
    operations: storageOperations,
  },
  {
    name: 'Jobs',
    summary: 'Background work of the service and its hosts: when it runs, and with what result.',
    operations: jobOperations,
  },
  {
    name: 'Backups',
    summary: 'Files with the database of the instance, which scripts/restore brings back.',
    operations: backupOperations,
  },
  { name: 'Settings', summary: 'Settings of the whole instance.', operations: settingsOperations },
  {
    name: 'Secrets',
    summary: 'Values that apps get and that nobody reads back.',
    operations: secretOperations,
  },
  {
    name: 'Deletions',
    summary: 'What would be deleted along with an app, a host or an account.',
    operations: deletionOperations,
  },
  {
    name: 'Activity',
    summary: 'What was changed, by whom and when, and whether the webhook gets it.',
    operations: { ...activityOperations, ...webhookOperations },
  },
  { name: 'Development', summary: 'For tests and development only.', operations: devOperations },
] as const satisfies readonly Area[];

type Intersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never;
type All = Intersection<(typeof areas)[number]['operations']>;

/**
 * All HTTP operations by id. The server registers handlers for this record, the web client gets its types from it, and
 * a test checks every entry.
 */
export const operations: Operations = Object.assign({}, ...areas.map((area) => area.operations));
export type Operations = { readonly [Id in keyof All]: All[Id] };
