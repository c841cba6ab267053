import { describe, expect, test } from 'vitest';
import { answeredCodec, codecOfMimeType } from './negotiated-codec.ts';

describe('the codec that a client reports', () => {
  test.each([
    ['video/H264', 'h264'],
    ['avc1', 'h264'],
    ['video/AVC', 'h264'],
    ['hevc', 'h265'],
    ['video/hvc1', 'h265'],
    ['H265', 'h265'],
    ['video/AV01', 'av1'],
    ['AV1', 'av1'],
    ['video/vp9', 'vp9'],
    ['', null],
    ['video/', null],
    ['a name of many words', null],
    ['x'.repeat(17), null],
  ])('%j → %j', (mimeType, codec) => {
    expect(codecOfMimeType(mimeType)).toBe(codec);
  });

  test.each([
    [
      {
        m_lines: [
          { mid: 'audio', codec: 'opus', rejected: false },
          { mid: 'video', codec: 'AV1', rejected: false },
        ],
      },
      'av1',
    ],
    [{ m_lines: [{ mid: 'video', codec: 'AV1', rejected: true }] }, null],
    [{ m_lines: [{ mid: 'audio', codec: 'opus', rejected: false }] }, null],
    [{ m_lines: 'AV1' }, null],
    [null, null],
  ])('of the answer %o: %j', (payload, codec) => {
    expect(answeredCodec(payload)).toBe(codec);
  });
});
