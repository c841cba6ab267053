import type { SentBody } from '@footlight/protocol/rest';
import { bodyBounds } from '../frame/body-bounds.ts';
import { numberRule } from '../frame/bound-rules.ts';

/** Optional values of a preview in form fields; "" means the default of app and profile. */
export interface PreviewRequest {
  profile_id: string;
  codec: '' | 'h264' | 'h265' | 'av1';
  client_type: 'browser' | 'native';
  width: number | string;
  height: number | string;
  fps: number | string;
  bitrate_kbps: number | string;
}

export const EMPTY_REQUEST: PreviewRequest = {
  profile_id: '',
  codec: '',
  client_type: 'browser',
  width: '',
  height: '',
  fps: '',
  bitrate_kbps: '',
};

const bounds = bodyBounds['admin.placement.preview'].stream;
const PROBLEMS = {
  width: numberRule(bounds.width),
  height: numberRule(bounds.height),
  fps: numberRule(bounds.fps),
  bitrate_kbps: numberRule(bounds.bitrate_kbps),
};
export type Figure = keyof typeof PROBLEMS;

/** Describes the error of a number; null: no error, or an empty field. */
export function figureProblem(figure: Figure, value: number | string): string | null {
  return value === '' ? null : PROBLEMS[figure](value);
}

/** The preview request; null: a number is invalid. */
export function previewOf(
  appId: string,
  userId: string,
  request: PreviewRequest,
): SentBody<'admin.placement.preview'> | null {
  const figures = (Object.keys(PROBLEMS) as Figure[]).filter((figure) => request[figure] !== '');
  if (figures.some((figure) => figureProblem(figure, request[figure]) !== null)) return null;
  const stream = {
    ...Object.fromEntries(figures.map((figure) => [figure, Number(request[figure])])),
    ...(request.codec !== '' && { codec: request.codec }),
  };
  return {
    app_id: appId,
    user_id: userId,
    client_type: request.client_type,
    ...(request.profile_id !== '' && { profile_id: request.profile_id }),
    ...(Object.keys(stream).length > 0 && { stream }),
  };
}
