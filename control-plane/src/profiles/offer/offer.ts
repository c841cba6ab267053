import type { ProfileOffer, RatedLaunchProfile, Reason } from '@footlight/protocol/rest';
import { loadLatestProbe, type Probe } from '../../accounts/index.ts';
import { findEntitledApp, loadAllowLists } from '../../catalog/index.ts';
import { encoderBudgetReader } from '../../fleet/index.ts';
import { noSuch } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ProfileWithRungs } from '../record.ts';
import * as store from '../store.ts';
import { permits } from './app-choice.ts';
import { type ClientFacts, FAILURE_COUNTS_MS, judgeLaunchProfile, judgeRung } from './eligibility.ts';
import { nominalOf, noteOn, numbersSetFor, recommend, type StreamLimits } from './recommendation.ts';

/** Launch profiles that a person is offered. */
export interface Offers {
  /**
   * Launch profiles for people, with verdicts for the caller's latest device.
   * @param appId only profiles that this app permits; undefined: all profiles
   * @throws 404 for an unknown, disabled or not entitled app, for every role
   */
  offer(userId: string, appId: string | undefined): Promise<ProfileOffer>;
}

export function createOffers(platform: Platform): Offers {
  const { clock } = platform;
  const { db } = platform.database;
  const loadEncoderBudget = encoderBudgetReader(platform);

  /** The app's permitted launch profiles, and the numbers (size, frame rate, bitrate) that it sets. @throws 404 */
  async function loadFilter(
    userId: string,
    appId: string,
  ): Promise<{ admits(profileId: string): boolean; numbers: StreamLimits['app'] }> {
    const app = await findEntitledApp(db, userId, appId);
    if (!app) throw noSuch('app', appId);
    const allowList = (await loadAllowLists(db, [appId])).get(appId) ?? [];
    return {
      admits: (profileId) => permits(app, allowList, profileId),
      numbers: numbersSetFor(app),
    };
  }

  return {
    async offer(userId, appId) {
      const { admits, numbers } =
        appId === undefined ? { admits: () => true, numbers: null } : await loadFilter(userId, appId);
      const { deviceId, probe } = await loadLatestProbe(db, userId, clock.nowMs());
      const facts: ClientFacts = {
        probe: probe.kind === 'fresh' ? probe.facts : null,
        failures:
          deviceId === null
            ? []
            : await store.listClientFailures(db, deviceId, clock.nowMs() - FAILURE_COUNTS_MS),
      };
      const profiles = (await store.listLaunchProfiles(db))
        .filter(({ profile }) => profile.visibility === 'user' && admits(profile.id))
        .map((profile) => rate(profile, facts));
      const { limitedBy, ...recommended } = recommend(profiles, facts.probe !== null, {
        encoderMpixelS: await loadEncoderBudget(),
        app: numbers,
      });
      return { ...recommended, notes: [...notesOn(probe), ...limitedBy.map(noteOn)], profiles };
    },
  };
}

function rate({ profile, rungs }: ProfileWithRungs, facts: ClientFacts): RatedLaunchProfile {
  const chain = rungs.map((rung, index) => ({ ...rung, position: index + 1, ...judgeRung(rung, facts) }));
  return {
    id: profile.id,
    display_name: profile.display_name,
    description: profile.description,
    nominal: nominalOf(chain),
    ...judgeLaunchProfile(profile.id, chain, facts.failures),
    rungs: chain,
  };
}

function notesOn(probe: Probe): Reason[] {
  if (probe.kind === 'missing') {
    return [
      {
        code: 'probe_missing',
        message: 'The decoders and the connection of this device have not been measured yet.',
      },
    ];
  }
  if (probe.kind === 'stale') {
    return [{ code: 'probe_stale', message: 'The last measurement of this device is over 30 days old.' }];
  }
  return [];
}
