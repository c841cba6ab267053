import type { ProfileOffer } from '@footlight/protocol/rest';
import { saidByServer } from '../../api/server-sentences.ts';
import { localeTag, msg, t } from '../../i18n/translate.ts';

type Profile = ProfileOffer['profiles'][number];

/** How a quality suits the device. */
export type Suitability = 'recommended' | Profile['eligibility'];

/** One quality to choose. */
export interface QualityChoice {
  /** "" follows the app and the device */
  id: string;
  name: string;
  /** size and frame rate, or why it does not suit */
  label: string;
  suitability: Suitability;
  /** for the chip, untranslated; null: no chip */
  chip: string | null;
}

const CHIPS: Readonly<Record<Suitability, string | null>> = {
  recommended: msg('Recommended'),
  eligible: null,
  risky: msg('May stutter here'),
  ineligible: msg('Not for this device'),
};

/** The choices: no preference first, then the offered profiles, each with its suitability and the reason. */
export function choicesOf(offer: ProfileOffer, globalDefaultId: string | null): QualityChoice[] {
  const byDefault = offer.profiles.find((profile) => profile.id === globalDefaultId);
  const none: QualityChoice = {
    id: '',
    name: byDefault
      ? t('Default of this instance: {quality}', { quality: byDefault.display_name })
      : t('Whatever suits the app and this device'),
    label: t('Used from the next launch on, for every app that lets you choose.'),
    suitability: 'eligible',
    chip: null,
  };
  return [
    none,
    ...offer.profiles.map((profile): QualityChoice => {
      const suitability: Suitability = isRecommended(profile, offer) ? 'recommended' : profile.eligibility;
      return {
        id: profile.id,
        name: profile.display_name,
        label: labelOf(profile),
        suitability,
        chip: CHIPS[suitability],
      };
    }),
  ];
}

/**
 * Whether to recommend a profile: the server rates only the device, so a profile that some host cannot encode is not
 * recommended.
 */
function isRecommended(profile: Profile, offer: ProfileOffer): boolean {
  const first = profile.rungs[0];
  const everywhere = first !== undefined && first.codec === 'h264' && !first.hardware_encoder_required;
  return profile.id === offer.recommended_id && offer.confidence === 'high' && everywhere;
}

function labelOf(profile: Profile): string {
  const { width, height, fps, bitrate_kbps } = profile.nominal;
  const mbps = (bitrate_kbps / 1000).toLocaleString(localeTag(), { maximumFractionDigits: 1 });
  const size = t('Up to {size} at {fps} frames a second, about {mbps} Mbit/s.', {
    size: `${width} × ${height}`,
    fps,
    mbps,
  });
  return [size, ...profile.reasons.map(({ message }) => saidByServer(message))].join(' ');
}
