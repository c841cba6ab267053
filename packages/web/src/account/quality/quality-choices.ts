import type { ProfileOffer } from '@footlight/protocol/rest';
import { saidByServer } from '../../api/server-sentences.ts';
import { localeTag, msg, t } from '../../i18n/translate.ts';

type Profile = ProfileOffer['profiles'][number];

/** How a quality suits the device. */
export type Suitability = 'recommended' | Profile['eligibility'];

/** The choices of a person: a few with plain names, and each launch profile. */
export interface QualityChoices {
  short: QualityChoice[];
  all: QualityChoice[];
}

/** One quality to choose. */
export interface QualityChoice {
  /** id of the launch profile; "": no preference */
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

/** Up to this number of profiles, all are shown. */
const FEW_PROFILES = 3;
/**
 * Height of the largest picture of the choice "Smooth". A larger picture would take encoding time that more frames
 * need.
 */
const SMOOTH_HEIGHT = 1080;

/**
 * The choices: no preference first, then the offered profiles, each with its suitability and the reason.
 * @param usualId the profile that is used without a preference; null: it depends on the app and the device
 */
export function choicesOf(offer: ProfileOffer, usualId: string | null): QualityChoices {
  const usual = offer.profiles.find((profile) => profile.id === usualId);
  const none: QualityChoice = {
    id: '',
    name: t('Automatic'),
    label: usual
      ? t('The usual quality: {quality}', { quality: usual.display_name })
      : t('Whatever suits each app and this device'),
    suitability: 'eligible',
    chip: null,
  };
  const all = offer.profiles.map((profile): QualityChoice => {
    const suitability: Suitability = isRecommended(profile, offer) ? 'recommended' : profile.eligibility;
    return {
      id: profile.id,
      name: profile.display_name,
      label: labelOf(profile),
      suitability,
      chip: CHIPS[suitability],
    };
  });
  return {
    short: [none, ...(all.length <= FEW_PROFILES ? all : shortChoices(offer.profiles))],
    all: [none, ...all],
  };
}

/**
 * One profile for each wish of a person: the largest picture, the most frames, the lowest bitrate. Only profiles that
 * suit the device; if none does, those that may stutter. A profile that already has a name is not named again.
 */
function shortChoices(profiles: readonly Profile[]): QualityChoice[] {
  const eligible = profiles.filter(({ eligibility }) => eligibility === 'eligible');
  const usable =
    eligible.length > 0 ? eligible : profiles.filter(({ eligibility }) => eligibility === 'risky');
  const first = (rank: (profile: Profile['nominal']) => readonly number[]) =>
    usable.toSorted((a, b) => compare(rank(b.nominal), rank(a.nominal)))[0];
  const named = [
    { name: msg('Sharp'), profile: first(({ height, fps }) => [height, -fps]) },
    {
      name: msg('Smooth'),
      profile: first(({ height, fps }) => [fps, height <= SMOOTH_HEIGHT ? height : -height]),
    },
    { name: msg('Save data'), profile: first(({ bitrate_kbps, height }) => [-bitrate_kbps, -height]) },
  ];
  return named.flatMap(({ name, profile }, index) =>
    profile === undefined || named.slice(0, index).some((other) => other.profile === profile)
      ? []
      : [
          {
            id: profile.id,
            name: t(name),
            label: labelOf(profile),
            suitability: profile.eligibility,
            chip: CHIPS[profile.eligibility],
          },
        ],
  );
}

function compare(a: readonly number[], b: readonly number[]): number {
  const different = a.findIndex((value, index) => value !== b[index]);
  return different < 0 ? 0 : (a[different] ?? 0) - (b[different] ?? 0);
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

/** Size, frame rate and bitrate of a stream, as values for a text. */
export function streamFacts({ width, height, fps, bitrate_kbps }: Profile['nominal']) {
  return { size: `${width} × ${height}`, fps, mbps: mbpsLabel(bitrate_kbps) };
}

const mbpsLabel = (kbps: number): string =>
  (kbps / 1000).toLocaleString(localeTag(), { maximumFractionDigits: 1 });

/**
 * Size, frame rate and bitrate of a profile. The nominal bitrate is that of the first rung only, which is often AV1; a
 * host without it sends H.264, which needs more. So the text names the range of all rungs that suit the device.
 */
function sizeLabel({ nominal, rungs }: Profile): string {
  const rates = rungs
    .filter(({ eligibility }) => eligibility !== 'ineligible')
    .map(({ nominal_bitrate_kbps }) => nominal_bitrate_kbps);
  const known = rates.length === 0 ? [nominal.bitrate_kbps] : rates;
  const facts = streamFacts(nominal);
  const least = mbpsLabel(Math.min(...known));
  const most = mbpsLabel(Math.max(...known));
  return least === most
    ? t('Up to {size} at {fps} frames a second, about {mbps} Mbit/s.', { ...facts, mbps: least })
    : t('Up to {size} at {fps} frames a second, {least} to {most} Mbit/s.', { ...facts, least, most });
}

function labelOf(profile: Profile): string {
  const size = sizeLabel(profile);
  return [size, ...profile.reasons.map(({ message }) => saidByServer(message))].join(' ');
}
