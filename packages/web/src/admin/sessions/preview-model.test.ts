import { expect, test } from 'vitest';
import { NO_WISHES, previewOf } from './preview-model.ts';

test('a trial without wishes asks for the app and the account alone', () => {
  expect(previewOf('a', 'u', NO_WISHES)).toEqual({ app_id: 'a', user_id: 'u', client_type: 'browser' });
});

test('what is filled in is asked for, as numbers', () => {
  const wishes = { ...NO_WISHES, width: 1280, height: '720', codec: 'av1', profile_id: 'sharp' } as const;
  expect(previewOf('a', 'u', wishes)).toEqual({
    app_id: 'a',
    user_id: 'u',
    client_type: 'browser',
    profile_id: 'sharp',
    stream: { width: 1280, height: 720, codec: 'av1' },
  });
});

test.each([{ width: 1281 }, { height: 8 }, { fps: 241 }, { bitrate_kbps: 0.5 }, { fps: 'many' }])(
  'nothing is asked while %j cannot be',
  (wish) => {
    expect(previewOf('a', 'u', { ...NO_WISHES, ...wish })).toBeNull();
  },
);
