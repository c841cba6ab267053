import type { ProfileOffer } from '@footlight/protocol/rest';

const SUITS = { eligible: '', risky: ' (may stutter here)', ineligible: ' (too much for this device)' };

/** Options: no preference first, then the offered profiles with their suitability. */
export function choicesOf(offer: ProfileOffer, globalDefaultId: string | null) {
  const byDefault = offer.profiles.find((profile) => profile.id === globalDefaultId);
  return [
    {
      value: '',
      label: byDefault
        ? `As usual here: ${byDefault.display_name}`
        : 'Whatever suits the app and this device',
    },
    ...offer.profiles.map((profile) => ({
      value: profile.id,
      label:
        profile.display_name +
        SUITS[profile.eligibility] +
        (profile.id === offer.recommended_id && offer.confidence === 'high' ? ' (recommended)' : ''),
      disabled: profile.eligibility === 'ineligible',
    })),
  ];
}

/** Text below the choice: why the chosen profile is unsuitable, else its picture. */
export function offerWords(offer: ProfileOffer, chosenId: string): string {
  const chosen = offer.profiles.find((profile) => profile.id === chosenId);
  if (chosen === undefined) return 'From the next launch on, for every app that leaves you the choice.';
  if (chosen.reasons.length > 0) return chosen.reasons.map((reason) => reason.message).join(' ');
  const { width, height, fps, bitrate_kbps } = chosen.nominal;
  return `Up to ${width} × ${height} at ${fps} frames a second, about ${(bitrate_kbps / 1000).toFixed(1)} Mbit/s.`;
}
