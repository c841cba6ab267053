import { expect, test } from 'vitest';
import { SenderReports } from './sender-reports.ts';

const stream = {
  ssrc: 1,
  clockHz: 90_000,
  packets: 10,
  payloadBytes: 1_000,
  newest: { timestamp: 0xffff_ff00, capturedAtMs: 1_000 },
};

test('the RTP timestamp is that of the report, not of the newest frame, and wraps at 32 bits', () => {
  const report = new SenderReports('viewer').write(stream, { monotonicMs: 1_500, wallMs: 0 });
  expect(report.readUInt32BE(16)).toBe((0xffff_ff00 + 45_000) % 2 ** 32);
});

test('the delay since the viewer’s reference time grows until the next one', () => {
  const reports = new SenderReports('viewer');
  const length = reports.write(stream, { monotonicMs: 1_000, wallMs: 0 }).length;
  const delay = (monotonicMs: number) => {
    const report = reports.write(stream, { monotonicMs, wallMs: 0 });
    expect(report.length).toBeGreaterThan(length);
    return report.readUInt32BE(report.length - 4) / 65_536;
  };
  reports.heard({ ssrc: 9, middle: 7 }, 1_000);
  expect(delay(1_250)).toBe(0.25);
  expect(delay(2_000)).toBe(1);
  reports.heard({ ssrc: 9, middle: 8 }, 2_000);
  expect(delay(2_250)).toBe(0.25);
});
