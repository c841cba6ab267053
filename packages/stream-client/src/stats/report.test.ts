import { describe, expect, test } from 'vitest';
import { compare, type RawSample, readReport, StuckDetector } from './report.ts';

const sample = (values: Partial<RawSample>): RawSample => ({
  ...readReport([], 0),
  ...values,
});

describe('one second of counters', () => {
  test('a report names video, codec and the path in use', () => {
    const raw = readReport(
      [
        { id: 'a', type: 'inbound-rtp', kind: 'audio', framesDecoded: 1 },
        {
          id: 'v',
          type: 'inbound-rtp',
          kind: 'video',
          codecId: 'c',
          framesDecoded: 60,
          frameWidth: 1280,
          frameHeight: 720,
        },
        { id: 'c', type: 'codec', mimeType: 'video/H264' },
        { id: 'p', type: 'candidate-pair', currentRoundTripTime: 0.012 },
        { id: 't', type: 'transport', selectedCandidatePairId: 'p' },
      ],
      1000,
    );
    expect(raw).toMatchObject({ framesDecoded: 60, width: 1280, mimeType: 'video/H264', rtt: 0.012 });
  });

  test.each([
    [{ candidateType: 'host' }, { candidateType: 'srflx' }, 'udp'],
    [{ candidateType: 'prflx', protocol: 'udp' }, { candidateType: 'host' }, 'udp'],
    [{ candidateType: 'prflx', protocol: 'tcp' }, { candidateType: 'host' }, 'tcp'],
    [{ candidateType: 'relay', relayProtocol: 'udp' }, { candidateType: 'host' }, 'turn_udp'],
    [{ candidateType: 'relay', relayProtocol: 'tcp' }, { candidateType: 'relay' }, 'turn_tcp'],
    [{ candidateType: 'relay', relayProtocol: 'tls' }, { candidateType: 'host' }, 'turn_tls'],
    [
      { candidateType: 'prflx', protocol: 'udp', relayProtocol: 'tcp' },
      { candidateType: 'host' },
      'turn_tcp',
    ],
    [{ candidateType: 'srflx' }, { candidateType: 'relay' }, 'turn_udp'],
    [{ candidateType: 'host' }, null, null],
  ])('the path from %o to %o is %s', (local, remote, path) => {
    const report = [
      { id: 'other', type: 'candidate-pair', nominated: true, localCandidateId: 'l', remoteCandidateId: 'l' },
      { id: 'p', type: 'candidate-pair', localCandidateId: 'l', remoteCandidateId: 'r' },
      { id: 't', type: 'transport', selectedCandidatePairId: 'p' },
      { id: 'l', type: 'local-candidate', ...local },
      ...(remote === null ? [] : [{ id: 'r', type: 'remote-candidate', ...remote }]),
    ];
    expect(readReport(report, 0).path).toBe(path);
  });

  test('differences of counters become rates, totals stay totals', () => {
    const before = sample({
      atMs: 0,
      framesDecoded: 10,
      bytesReceived: 0,
      packetsReceived: 0,
      packetsLost: 1,
    });
    const after = sample({
      atMs: 1000,
      framesDecoded: 70,
      bytesReceived: 125_000,
      packetsReceived: 95,
      packetsLost: 6,
      framesDropped: 2,
      jitter: 0.003,
      rtt: 0.02,
    });
    const second = compare(before, after);
    expect(second.metrics).toEqual({
      fps: 60,
      bitrate_kbps: 1000,
      rtt_ms: 20,
      jitter_ms: 3,
      packets_lost: 6,
      frames_dropped: 2,
    });
    expect(second.loss).toBeCloseTo(0.05);
  });

  test('whole frames that arrived are counted separately, decoded or not', () => {
    const before = sample({ atMs: 0, framesReceived: 10, framesDecoded: 10 });
    const after = sample({ atMs: 1000, framesReceived: 70, framesDecoded: 30 });
    expect(compare(before, after)).toMatchObject({ received: 60, decoded: 20 });
    expect(compare(after, before)).toMatchObject({ received: undefined, decoded: undefined });
  });

  test('values that the browser does not measure are absent, also after the counters restarted', () => {
    expect(compare(sample({ atMs: 0 }), sample({ atMs: 1000 })).metrics).toEqual({});
    const restarted = compare(
      sample({ atMs: 0, framesDecoded: 100 }),
      sample({ atMs: 1000, framesDecoded: 3 }),
    );
    expect(restarted.metrics.fps).toBeUndefined();
  });

  test('a decoder counts as stuck once, after five seconds of packets without a picture', () => {
    const stuck = new StuckDetector();
    const still = {
      metrics: {},
      loss: null,
      dropped: 0,
      freezes: 0,
      received: 60,
      decoded: 0,
      packets: 100,
    };
    const verdicts = [1, 2, 3, 4, 5].map((second) => stuck.add(still, second * 1000, false));
    expect(verdicts).toEqual([false, false, false, false, true]);
    expect(stuck.add(still, 6000, false)).toBe(false);
  });

  test('silence, a hidden page and a moving picture are not stuck', () => {
    const stuck = new StuckDetector();
    const still = {
      metrics: {},
      loss: null,
      dropped: 0,
      freezes: 0,
      received: 60,
      decoded: 0,
      packets: 100,
    };
    for (let second = 1; second < 20; second += 1) {
      expect(stuck.add({ ...still, packets: 0 }, second * 1000, false)).toBe(false);
      expect(stuck.add(still, second * 1000, true)).toBe(false);
      expect(stuck.add({ ...still, decoded: 60 }, second * 1000, false)).toBe(false);
    }
  });
});
