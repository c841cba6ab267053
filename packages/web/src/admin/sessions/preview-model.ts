import type { SentBody } from '@footlight/protocol/rest';
import { pixelsProblem, rangeProblem } from '../frame/number-rules.ts';

/** Optional values of a preview in form fields; "" means the default of app and profile. */
export interface Wishes {
  profile_id: string;
  codec: '' | 'h264' | 'h265' | 'av1';
  client_type: 'browser' | 'native';
  width: number | string;
  height: number | string;
  fps: number | string;
  bitrate_kbps: number | string;
}

export const NO_WISHES: Wishes = {
  profile_id: '',
  codec: '',
  client_type: 'browser',
  width: '',
  height: '',
  fps: '',
  bitrate_kbps: '',
};

const PROBLEMS: Readonly<
  Record<'width' | 'height' | 'fps' | 'bitrate_kbps', (value: number | string) => string | null>
> = {
  width: pixelsProblem,
  height: pixelsProblem,
  fps: (value) => rangeProblem(value, 1, 240),
  bitrate_kbps: (value) => rangeProblem(value, 1, 500_000),
};
export type Figure = keyof typeof PROBLEMS;

/** Fault of a number; null: none, or empty. */
export function figureProblem(figure: Figure, value: number | string): string | null {
  return value === '' ? null : PROBLEMS[figure](value);
}

/** The preview request; null while a number is invalid. */
export function previewOf(
  appId: string,
  userId: string,
  wishes: Wishes,
): SentBody<'admin.placement.preview'> | null {
  const figures = (Object.keys(PROBLEMS) as Figure[]).filter((figure) => wishes[figure] !== '');
  if (figures.some((figure) => figureProblem(figure, wishes[figure]) !== null)) return null;
  const stream = {
    ...Object.fromEntries(figures.map((figure) => [figure, Number(wishes[figure])])),
    ...(wishes.codec !== '' && { codec: wishes.codec }),
  };
  return {
    app_id: appId,
    user_id: userId,
    client_type: wishes.client_type,
    ...(wishes.profile_id !== '' && { profile_id: wishes.profile_id }),
    ...(Object.keys(stream).length > 0 && { stream }),
  };
}
