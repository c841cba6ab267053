/**
 * Selects the launch profile of a launch and checks that the caller may use it. Pure.
 * Source: docs/quality.md, "Which launch profile applies".
 */
import {
  type AppChoice,
  type ClientFacts,
  judgeLaunchProfile,
  judgeRung,
  nominalOf,
  numbersSetFor,
  type Policy,
  type ProfileWithRungs,
  permits,
  type Rating,
  recommend,
} from '../../profiles/index.ts';
import type { Refusal } from '../launch/refusal.ts';
import { isEnvelopeOverride, type StreamOverride } from './stream.ts';

export interface ChoiceFacts {
  isAdmin: boolean;
  app: AppChoice & Parameters<typeof numbersSetFor>[0] & { name: string };
  /** Permitted launch profiles of the app; empty: all are permitted. */
  allowList: readonly string[];
  policy: Policy;
  /** The caller's own default; null: the caller has none. */
  preference: string | null;
  /** All launch profiles in list order. */
  profiles: readonly ProfileWithRungs[];
  client: ClientFacts;
  /** Throughput of the best host for one session, Mpixel/s; null: unknown. */
  encoderMpixelS: number | null;
}

export interface ChoiceRequest {
  profile_id?: string | undefined;
  stream?: StreamOverride | undefined;
}

/**
 * Runs the admission checks on the launch profile, from the permission to choose up to the eligibility.
 * @returns profile null: no profile applies, so the app's own size, frame rate and bitrate are used
 */
export function chooseProfile(
  facts: ChoiceFacts,
  request: ChoiceRequest,
): { profile: ProfileWithRungs | null } | { refusal: Refusal } {
  const { app, isAdmin, policy, profiles, client } = facts;
  const overridden = isEnvelopeOverride(request.stream);
  const requested = request.profile_id;

  if (!isAdmin && (requested !== undefined || overridden)) {
    const forced = app.profile_policy === 'force';
    const isChoice = overridden || requested !== chooseImplicitly(facts, request);
    if (isChoice && forced) return refuse('conflict', `${app.name} decides its picture quality itself.`);
    if (isChoice && !policy.userOverridesAllowed)
      return refuse('conflict', 'An administrator decides the picture quality here for everybody.');
  }
  if (!isAdmin && requested !== undefined && !permits(app, facts.allowList, requested))
    return refuse(
      'profile_not_launchable_for_app',
      `${app.name} does not offer the profile ${quoted(requested)}.`,
    );

  const id = requested ?? (overridden ? null : chooseImplicitly(facts, request));
  if (id === null) return { profile: null };
  const profile = profiles.find((candidate) => candidate.profile.id === id);
  if (profile === undefined)
    return refuse('validation_failed', `profile_id: there is no launch profile ${quoted(id)}`);
  if (isAdmin) return { profile };
  if (profile.profile.visibility !== 'user')
    return refuse('profile_ineligible', `${profile.profile.display_name} is not for people to launch with.`);
  const { eligibility, reasons } = judge(profile, client);
  if (eligibility === 'ineligible') {
    const why = reasons.map(({ message }) => message).join(' ');
    return refuse(
      'profile_ineligible',
      `${profile.profile.display_name} does not suit this device. ${why}`.trim(),
    );
  }
  return { profile };
}

/**
 * The profile when the request names none. The first of these that exists is used: the app's, the person's, the
 * instance's, the recommended one.
 */
function chooseImplicitly(facts: ChoiceFacts, request: ChoiceRequest): string | null {
  const { app, allowList, policy, preference, profiles, client, encoderMpixelS } = facts;
  if (app.profile_policy !== 'inherit' && app.default_profile_id !== null) return app.default_profile_id;
  const permitted = (id: string | null): id is string => id !== null && permits(app, allowList, id);
  const ownCounts = policy.userOverridesAllowed && app.profile_policy !== 'force';
  if (ownCounts && permitted(preference)) return preference;
  if (permitted(policy.globalDefaultProfileId)) return policy.globalDefaultProfileId;
  const offered = profiles
    .filter(({ profile }) => profile.visibility === 'user' && permitted(profile.id))
    .map((candidate) => ({
      id: candidate.profile.id,
      eligibility: judge(candidate, client).eligibility,
      nominal: nominalOf(candidate.rungs),
    }));
  // Do not limit the profile when the request names a codec, because a smaller profile may have no rung with this
  // codec.
  const limits =
    request.stream?.codec === undefined
      ? { encoderMpixelS, app: numbersSetFor(app) }
      : { encoderMpixelS: null, app: null };
  return recommend(offered, client.probe !== null, limits).recommended_id || null;
}

/** Cached verdicts for devices without a measurement, which are the majority. */
const unmeasured = new WeakMap<ProfileWithRungs, Rating>();

function judge(profile: ProfileWithRungs, client: ClientFacts): Rating {
  if (client.probe !== null || client.failures.length > 0) return judgeUncached(profile, client);
  let verdict = unmeasured.get(profile);
  if (verdict === undefined) {
    verdict = judgeUncached(profile, client);
    unmeasured.set(profile, verdict);
  }
  return verdict;
}

function judgeUncached({ profile, rungs }: ProfileWithRungs, client: ClientFacts): Rating {
  const chain = rungs.map((rung) => ({ ...rung, ...judgeRung(rung, client) }));
  return judgeLaunchProfile(profile.id, chain, client.failures);
}

const refuse = (code: Refusal['code'], message: string): { refusal: Refusal } => ({
  refusal: { code, message },
});

const quoted = (id: string): string => JSON.stringify(id.slice(0, 128));
