import { ManualClock } from '@footlight/platform/testing';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Tx } from '../database/index.ts';
import { PeriodicWriter } from './periodic-writer.ts';

describe('values that are collected in memory', () => {
  let clock: ManualClock;
  let writer: PeriodicWriter;
  let written: string[];

  beforeEach(() => {
    clock = new ManualClock();
    written = [];
    writer = new PeriodicWriter(clock, { run: (_rows, work) => work({} as Tx) });
  });

  function collector(name: string, refuses = false) {
    let values = 0;
    const lost: unknown[] = [];
    const isDue = writer.register({
      take() {
        if (values === 0) return null;
        const taken = values;
        values = 0;
        return {
          rows: {},
          async write() {
            if (refuses) throw new Error('the disk is full');
            written.push(`${taken} of ${name}`);
          },
          lost: (error) => void lost.push(error),
        };
      },
    });
    return {
      lost,
      add() {
        values += 1;
        isDue();
      },
    };
  }

  test('are written once a second for all collectors, in the order of their registration', async () => {
    const heartbeats = collector('heartbeats');
    const telemetry = collector('telemetry');
    telemetry.add();
    await clock.pass(600);
    heartbeats.add();
    heartbeats.add();
    await clock.pass(399);
    expect(written).toEqual([]);
    await clock.pass(1);
    expect(written).toEqual(['2 of heartbeats', '1 of telemetry']);
    await clock.pass(5_000);
    expect(written).toHaveLength(2);
  });

  test('of one collector are lost without those of the others', async () => {
    const refused = collector('heartbeats', true);
    const telemetry = collector('telemetry');
    refused.add();
    telemetry.add();
    await writer.flush();
    expect(written).toEqual(['1 of telemetry']);
    expect(refused.lost).toHaveLength(1);
  });

  test('are written at the end', async () => {
    const heartbeats = collector('heartbeats');
    heartbeats.add();
    await writer.close();
    expect(written).toEqual(['1 of heartbeats']);
  });
});
