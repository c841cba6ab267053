import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { judgeAnswer, readAnswer } from './sdp-answer.ts';
import { renameDataMid, restoreDataMid, videoAttributes, videoFmtp, videoLevel } from './sdp-offer.ts';

const stream = (width: number, height: number, fps: number) =>
  ({ width, height, fps, codec: 'h264', h264_profile: 'constrained-baseline' }) as const;

describe('codec parameters', () => {
  test.each([
    [1280, 720, 30, '1f', 93, 5],
    [1280, 720, 60, '20', 120, 8],
    [1280, 720, 120, '2a', 123, 9],
    [1920, 1080, 30, '2a', 123, 9],
    [1920, 1080, 60, '2a', 123, 9],
    [1920, 1080, 120, '33', 150, 12],
    [2560, 1440, 60, '33', 150, 12],
    [3840, 2160, 60, '34', 153, 13],
    [7680, 4320, 60, '34', 156, 14],
    [640, 480, 24, '1f', 93, 5],
  ])('%ix%i@%i', (width, height, fps, h264, h265, av1) => {
    expect(videoLevel(stream(width, height, fps))).toMatchObject({ h264, h265, av1 });
  });

  test('profiles and packetisation', () => {
    expect(videoFmtp(stream(1280, 720, 60))).toBe(
      'packetization-mode=1;level-asymmetry-allowed=1;profile-level-id=42e020',
    );
    expect(videoFmtp({ ...stream(1920, 1080, 60), h264_profile: 'high' })).toContain('64002a');
    expect(videoFmtp({ ...stream(1280, 720, 60), codec: 'av1' })).toBe('profile=0;tier=0;level-idx=8');
    expect(videoFmtp({ ...stream(1920, 1080, 60), codec: 'h265' })).toBe(
      'profile-id=1;tier-flag=0;tx-mode=SRST;level-id=123',
    );
  });

  test('feedback and extensions are offered', () => {
    const lines = videoAttributes().join('\n');
    for (const part of [
      'transport-cc',
      'ccm fir',
      'rrtr',
      'playout-delay',
      'abs-capture-time',
      'transport-wide-cc',
    ]) {
      expect(lines).toContain(part);
    }
    expect(lines).not.toContain('abs-send-time');
  });
});

describe('the data line is called data', () => {
  const offer = [
    'v=0',
    'a=group:BUNDLE video 0',
    'a=group:LS video audio',
    'm=video 9 UDP/TLS/RTP/SAVPF 96',
    'a=mid:video',
    'm=application 9 UDP/DTLS/SCTP webrtc-datachannel',
    'a=mid:0',
    '',
  ].join('\r\n');

  test('renames it in the offer and restores it in the answer', () => {
    const renamed = renameDataMid(offer);
    expect(renamed.dataMid).toBe('0');
    expect(renamed.sdp).toContain('a=group:BUNDLE video data');
    expect(renamed.sdp).toContain('a=mid:data');
    expect(renamed.sdp).not.toContain('group:LS');
    expect(restoreDataMid(renamed.sdp, '0')).toBe(offer.replace('a=group:LS video audio\r\n', ''));
  });
});

const answer = [
  'v=0',
  'o=- 1 2 IN IP4 127.0.0.1',
  's=-',
  't=0 0',
  'm=video 9 UDP/TLS/RTP/SAVPF 96',
  'a=candidate:1 1 udp 2113937151 10.0.0.9 50000 typ host',
  'a=end-of-candidates',
  'a=mid:video',
  'a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01',
  'a=extmap:9 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay',
  'a=recvonly',
  'a=rtpmap:96 H264/90000',
  'm=audio 0 UDP/TLS/RTP/SAVPF 111',
  'a=mid:audio',
  'a=inactive',
].join('\r\n');

describe('reading an answer', () => {
  test('lines, codecs and extensions with their offered ids', () => {
    const reading = readAnswer(answer);
    if (reading.kind !== 'answer') throw new Error(reading.why);
    const [video, audio] = reading.lines;
    expect(video).toMatchObject({ mid: 'video', codec: 'H264', direction: 'recvonly', rejected: false });
    expect([...(video?.extensions ?? [])]).toEqual(['transportSequence']);
    expect(audio).toMatchObject({ mid: 'audio', rejected: true });
  });

  test('candidates are removed, so that they pass the same filter as separate ones', () => {
    const reading = readAnswer(answer);
    if (reading.kind !== 'answer') throw new Error(reading.why);
    expect(reading.candidates).toEqual(['candidate:1 1 udp 2113937151 10.0.0.9 50000 typ host']);
    expect(reading.sdp).not.toContain('candidate');
  });

  test('an inactive picture is rejected even with a port', () => {
    const reading = readAnswer(answer.replace('a=recvonly', 'a=inactive'));
    expect(reading).toMatchObject({ lines: [{ rejected: true }, { rejected: true }] });
  });

  test.each(['', 'hello', 'v=0', 'v=0\r\nm=', 'v=0\r\nm=video x'])('%j is unreadable', (text) => {
    expect(readAnswer(text).kind).toBe('unreadable');
  });

  test.each(['\r', '\0', '\t', '\v'])('%j within a line makes it unreadable', (control) => {
    const hidden = `a=${control}candidate:1 1 udp 1 127.0.0.1 9 typ host`;
    expect(readAnswer(answer.replace('t=0 0', `t=0 0\r\n${hidden}`))).toEqual({
      kind: 'unreadable',
      why: 'a control character',
    });
  });

  test('any text is parsed or refused, and no candidate line remains', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...answer.split('\r\n'), 'a=candidate:x', 'm=', '')), (lines) => {
        const reading = readAnswer(lines.join('\n'));
        if (reading.kind === 'answer') expect(reading.sdp).not.toMatch(/a=candidate:/);
      }),
      { numRuns: 500 },
    );
  });
});

describe('judging an answer', () => {
  const judge = (edit: (sdp: string) => string = (sdp) => sdp, codec = 'H264') =>
    judgeAnswer(edit(answer), codec);

  test('the offered codec is applied, with the extensions of each line, even if sound is refused', () => {
    const verdict = judge();
    if (verdict.kind !== 'apply') throw new Error(verdict.kind);
    expect([...verdict.video]).toEqual(['transportSequence']);
    expect(verdict.audio).toBeNull();
    expect(verdict.candidates).toHaveLength(1);
  });

  test('accepted sound has its extensions', () => {
    const verdict = judge((sdp) => sdp.replace('m=audio 0', 'm=audio 9').replace('a=inactive', 'a=recvonly'));
    expect(verdict).toMatchObject({ kind: 'apply', audio: new Set() });
  });

  test.each([
    ['port 0', (sdp: string) => sdp.replace('m=video 9', 'm=video 0')],
    ['inactive', (sdp: string) => sdp.replace('a=recvonly', 'a=inactive')],
  ])('video with %s takes no picture', (_what, edit) => {
    expect(judge(edit).kind).toBe('no_video');
  });

  test.each([
    ['no text of SDP', () => 'hello', 'parse', 'no version line'],
    ['no video line', (sdp: string) => sdp.replace('a=mid:video', 'a=mid:v'), 'rejected', 'no video line'],
    [
      'another codec',
      (sdp: string) => sdp.replace('H264/', 'VP8/'),
      'rejected',
      'the answer takes VP8 where H264 was offered',
    ],
    [
      'no codec',
      (sdp: string) => sdp.replace('a=rtpmap:96 H264/90000', 'a=x'),
      'rejected',
      'the answer takes no codec where H264 was offered',
    ],
  ] as const)('%s is refused', (_what, edit, cause, why) => {
    expect(judge(edit)).toEqual({ kind: 'refuse', cause, why });
  });
});
