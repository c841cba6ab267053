import type { StreamProfile } from '@footlight/protocol/rest';
import { NEW_APP } from '../../catalog/index.ts';
import type { ProfileWithRungs } from '../../profiles/index.ts';
import { aRung } from '../test-rungs.ts';
import type { Snapshot } from './admission.ts';
import type { LaunchApp } from './launch-store.ts';

/** An app with catalog defaults and a command to run. */
export const anApp = (fields: Partial<LaunchApp> = {}): LaunchApp => ({
  ...NEW_APP,
  id: 'app',
  name: 'App',
  runtime_spec: { args: ['app'] },
  preset: null,
  ...fields,
});

/** A launch profile with one rung of the same name, unless the test sets rungs. */
export const aProfile = (
  id: string,
  rungs: readonly StreamProfile[] = [aRung(`${id}-h264`)],
  visibility: ProfileWithRungs['profile']['visibility'] = 'user',
): ProfileWithRungs => ({
  profile: {
    id,
    display_name: `Profile ${id}`,
    description: '',
    visibility,
    sort_order: 0,
    created_at: 0,
    updated_at: 0,
  },
  rungs,
});

/** A snapshot of a person without a probe on a new instance. */
export const aSnapshot = (
  fields: Partial<Omit<Snapshot, 'choice'>> = {},
  choice: Partial<Snapshot['choice']> = {},
): Snapshot => ({
  app: anApp(),
  parent: null,
  entitled: true,
  choice: {
    isAdmin: false,
    allowList: [],
    policy: { globalDefaultProfileId: null, userOverridesAllowed: true },
    preference: null,
    profiles: [],
    client: { probe: null, failures: [] },
    encoderMpixelS: null,
    ...choice,
  },
  viewer: { isAdmin: choice.isAdmin ?? false, probe: null },
  settings: { storageProvider: 'auto', micCaptureEnabled: false, flightRecorderEnabled: false },
  homeHostId: null,
  prefersHomeHost: false,
  ...fields,
});
