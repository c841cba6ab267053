import type { StreamProfile } from '@footlight/protocol/rest';
import { NEW_APP } from '../../catalog/index.ts';
import type { ProfileWithRungs } from '../../profiles/index.ts';
import { admit, type LaunchFacts } from '../launch/admission.ts';
import type { LaunchApp } from '../launch/app-store.ts';
import { type AdmittedLaunch, type LaunchBody, PERSONAL_TERMS } from '../launch/stages.ts';
import { aRung } from './test-rungs.ts';

/** An app with catalog defaults and a command to run. */
export const anApp = (fields: Partial<LaunchApp> = {}): LaunchApp => ({
  ...NEW_APP,
  id: 'app',
  name: 'App',
  runtime_spec: { args: ['app'] },
  preset: null,
  required_image: null,
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

/** Facts of a launch on a new instance, by a person whose device was not measured. */
export const launchFacts = (
  fields: Partial<Omit<LaunchFacts, 'choice'>> = {},
  choice: Partial<LaunchFacts['choice']> = {},
): LaunchFacts => ({
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
  unreachable: new Set(),
  prefersHomeHost: false,
  ...fields,
});

const user = { userId: 'alice', role: 'user', deviceId: null } as const;

/** Admits a launch of one person. */
export const tryAdmit = (facts: LaunchFacts, body: Partial<LaunchBody> = {}, terms = PERSONAL_TERMS) =>
  admit(facts, { user, body: { app_id: 'app', mic: false, ...body }, terms });
export const codeOf = (...args: Parameters<typeof tryAdmit>) => {
  const outcome = tryAdmit(...args);
  return 'refusal' in outcome ? outcome.refusal.code : null;
};
export function admitted(...args: Parameters<typeof tryAdmit>): AdmittedLaunch {
  const outcome = tryAdmit(...args);
  if ('refusal' in outcome) throw new Error(`refused: ${outcome.refusal.code}`);
  return outcome;
}
