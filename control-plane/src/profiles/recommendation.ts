import type { Eligibility, ProfileOffer } from '@footlight/protocol/rest';

/** What is recommended to a client that was never measured: most can play it. */
const CONSERVATIVE_ID = '1080p60';

/**
 * What to preselect out of the launch profiles that a caller is shown, best first.
 * @param measured whether there is a fresh measurement of the caller's device
 * @returns recommended_id is one of them, or "" when there is none
 */
export function recommend(
  profiles: readonly { id: string; eligibility: Eligibility }[],
  measured: boolean,
): Pick<ProfileOffer, 'recommended_id' | 'confidence'> {
  const fitting = measured
    ? profiles.find(({ eligibility }) => eligibility === 'eligible')
    : profiles.find(({ id }) => id === CONSERVATIVE_ID);
  return {
    recommended_id: (fitting ?? profiles.at(-1))?.id ?? '',
    confidence: measured && fitting !== undefined ? 'high' : 'low',
  };
}
