import { expect, test } from 'vitest';
import { EMPTY_REQUEST, previewOf } from './preview-model.ts';

test('a preview without options sends only the app and the account', () => {
  expect(previewOf('a', 'u', EMPTY_REQUEST)).toEqual({ app_id: 'a', user_id: 'u', client_type: 'browser' });
});

test('filled fields are sent, as numbers', () => {
  const request = {
    ...EMPTY_REQUEST,
    width: 1280,
    height: '720',
    codec: 'av1',
    profile_id: 'sharp',
  } as const;
  expect(previewOf('a', 'u', request)).toEqual({
    app_id: 'a',
    user_id: 'u',
    client_type: 'browser',
    profile_id: 'sharp',
    stream: { width: 1280, height: 720, codec: 'av1' },
  });
});

test.each([{ width: 1281 }, { height: 8 }, { fps: 241 }, { bitrate_kbps: 0.5 }, { fps: 'many' }])(
  'nothing is asked while %j cannot be',
  (change) => {
    expect(previewOf('a', 'u', { ...EMPTY_REQUEST, ...change })).toBeNull();
  },
);
