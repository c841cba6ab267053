import { describe, expect, test } from 'vitest';
import { negotiatedCaptureTime, wantPassive, wantStereo } from './answer.ts';
import { cursorCss } from './cursor.ts';
import { decodableCodecs, greeting } from './greeting.ts';
import { signalingUrl } from './socket.ts';

describe('the answer', () => {
  const lines = (...text: string[]) => text.map((line) => `${line}\r\n`).join('');

  test('asks for stereo on Opus and nothing else', () => {
    const sdp = lines(
      'a=rtpmap:111 opus/48000/2',
      'a=fmtp:111 useinbandfec=1',
      'a=rtpmap:96 H264/90000',
      'a=fmtp:96 x=1',
    );
    expect(wantStereo(sdp)).toBe(
      lines(
        'a=rtpmap:111 opus/48000/2',
        'a=fmtp:111 useinbandfec=1;stereo=1',
        'a=rtpmap:96 H264/90000',
        'a=fmtp:96 x=1',
      ),
    );
  });

  test('adds the line if it is missing, and keeps an existing value', () => {
    expect(wantStereo(lines('a=rtpmap:111 opus/48000/2', 'a=ptime:10'))).toBe(
      lines('a=rtpmap:111 opus/48000/2', 'a=fmtp:111 stereo=1', 'a=ptime:10'),
    );
    const chosen = lines('a=rtpmap:111 opus/48000/2', 'a=fmtp:111 sprop-stereo=1;stereo=0');
    expect(wantStereo(chosen)).toBe(chosen);
  });

  test('sprop-stereo is not stereo', () => {
    const sdp = lines('a=rtpmap:111 opus/48000/2', 'a=fmtp:111 sprop-stereo=1');
    expect(wantStereo(sdp)).toContain('sprop-stereo=1;stereo=1');
  });

  test('leaves the start of the handshake to the host, in every section', () => {
    expect(wantPassive(lines('a=setup:active', 'a=mid:video', 'a=setup:active'))).toBe(
      lines('a=setup:passive', 'a=mid:video', 'a=setup:passive'),
    );
  });

  test('reports whether capture time was negotiated', () => {
    expect(
      negotiatedCaptureTime('a=extmap:3 http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time'),
    ).toBe(true);
    expect(negotiatedCaptureTime('a=extmap:3 urn:other')).toBe(false);
  });
});

describe('cursors', () => {
  const cursor = {
    type: 'cursor',
    id: 1,
    width: 16,
    height: 16,
    hot_x: 3,
    hot_y: 40,
    png: 'iVBORw0KGgo=',
  } as const;

  test('become a CSS value with the hot spot inside', () => {
    expect(cursorCss(cursor)).toBe('url("data:image/png;base64,iVBORw0KGgo=") 3 15, default');
  });

  test('that would break out of the style are refused', () => {
    expect(cursorCss({ ...cursor, png: '"); background: url("https://evil.test' })).toBeNull();
    expect(cursorCss({ ...cursor, png: '' })).toBeNull();
  });
});

describe('the URL to dial', () => {
  test.each([
    ['wss://host/v1/signal', 't', 'wss://host/v1/signal?token=t'],
    ['wss://host/v1/signal?token=t', '', 'wss://host/v1/signal?token=t'],
    ['/v1/signal', 't', 'wss://page.test/v1/signal?token=t'],
    ['http://host:8080/v1/signal', 'a b', 'ws://host:8080/v1/signal?token=a+b'],
  ])('%s', (url, token, expected) => {
    expect(signalingUrl({ url, token }, 'https://page.test/session/1')).toBe(expected);
  });
});

describe('the greeting', () => {
  test('has one id per page and names the connection that still plays', () => {
    const first = greeting({ codecs: ['h264'] }, null);
    const again = greeting({ codecs: ['h264'] }, 'aaaaaaaa-0000-4000-8000-000000000001');
    expect(again.client_id).toBe(first.client_id);
    expect(first).not.toHaveProperty('resume');
    expect(again.resume).toEqual({ pc_id: 'aaaaaaaa-0000-4000-8000-000000000001' });
  });

  test('always offers h264', () => {
    expect(decodableCodecs()).toContain('h264');
  });
});
