import { ManualClock } from '@footlight/platform/testing';
import { beforeEach, expect, test } from 'vitest';
import { FallbackOffer } from './fallback-offer.ts';

const SDP = 'v=0\r\na=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\n';
const HOST = 'a=candidate:1 1 UDP 2122317823 10.0.0.5 46154 typ host';

let clock: ManualClock;
let calls: unknown[];
let sent: string[];
let offer: FallbackOffer;

beforeEach(() => {
  clock = new ManualClock();
  [calls, sent] = [[], []];
  offer = new FallbackOffer({
    access: {
      port: 8444,
      open: (pcId, connection) => calls.push(['open', pcId, connection]),
      close: (pcId) => calls.push(['close', pcId]),
    },
    pcId: 'pc',
    clock,
    hold: (port) => {
      calls.push(['hold', port]);
      return { release: () => calls.push('release'), close: () => calls.push('close') };
    },
    send: (candidate, mid) => sent.push(`${mid} ${candidate.split(' ')[2]}`),
  });
  offer.described(SDP);
});

test('a connection is registered before its candidates are sent, once, and withdrawn at its end', () => {
  offer.gathered(HOST, 'video');
  offer.gathered(HOST.replace('10.0.0.5', '10.0.0.6'), 'video');
  const opened = ['open', 'pc', { ufrag: 'abcd', pwd: '0123456789012345678901', port: 46_154 }];
  expect([calls, sent]).toEqual([[opened], []]);
  offer.close();
  offer.close();
  expect(calls).toEqual([opened, ['close', 'pc']]);
});

test('without a path after the head start, the candidates are sent, and later ones at once', () => {
  offer.gathered(HOST, 'video');
  offer.begin();
  expect(sent).toEqual([]);
  clock.advance(500);
  expect(sent).toEqual(['video UDP', 'video TCP']);
  offer.gathered(HOST.replace('10.0.0.5', '10.0.0.6'), 'video');
  expect(sent).toHaveLength(4);
  offer.gathered(HOST.replace('typ host', 'typ srflx raddr 0.0.0.0 rport 0'), 'video');
  expect(sent).toHaveLength(4);
});

test.each(['connected', 'close'] as const)('%s within the head start: none is sent', (end) => {
  offer.gathered(HOST, 'video');
  offer.begin();
  offer[end]();
  expect(clock.pendingTimers).toBe(0);
  offer.gathered(HOST, 'video');
  offer.begin();
  clock.advance(10_000);
  expect(sent).toEqual([]);
});

test.each(['before', 'after'] as const)(
  'the nomination waits until packets pass; the port is known %s the answer',
  (known) => {
    if (known === 'before') offer.gathered(HOST, 'video');
    offer.answered();
    offer.answered();
    if (known === 'after') {
      expect(calls).toEqual([]);
      offer.gathered(HOST, 'video');
    }
    expect(calls.slice(1)).toEqual([['hold', 46_154]]);
    offer.connected();
    expect(calls.at(-1)).toBe('release');
    offer.close();
    expect(calls).toContain('close');
  },
);
