import { describe, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { useStreamWorld } from '../testing/stream-world.ts';

describeDatabases('the stream of a launch', (databases) => {
  const { db, somebody, oneRung, launched, withHost } = useStreamWorld(databases);

  describe('within the measured bandwidth of the line', () => {
    test.each([
      ['70 % of 5,000 kbit/s', { bandwidth_kbps: 5_000 }, 3_500, 50],
      ['99 kbit/s is no measurement', { bandwidth_kbps: 99 }, 8_000, 50],
      ['more than the rung asks for', { bandwidth_kbps: 50_000 }, 8_000, 50],
      ['15 ms adds no delay', { rtt_ms: 15 }, 8_000, 50],
      ['16 ms adds 25 ms', { rtt_ms: 16 }, 8_000, 75],
      ['50 ms adds 25 ms', { rtt_ms: 50 }, 8_000, 75],
      ['51 ms adds 50 ms', { rtt_ms: 51 }, 8_000, 100],
    ] as const)('%s', async (_row, capabilities, bitrate_kbps, playout0_ms) => {
      const profile_id = await oneRung({ nominal_bitrate_kbps: 8_000, playout0_ms: 50 });
      const person = await somebody(capabilities);
      expect((await launched(person, { profile_id })).stream).toMatchObject({ bitrate_kbps, playout0_ms });
    });

    test('does not touch an override, nor an administrator', async () => {
      const profile_id = await oneRung({ nominal_bitrate_kbps: 8_000, playout0_ms: 50 });
      const person = await somebody({ bandwidth_kbps: 5_000, rtt_ms: 60 });
      const whole = { bitrate_kbps: 8_000, playout0_ms: 50 };
      expect((await launched(person, { profile_id, stream: { fps: 30 } })).stream).toMatchObject(whole);
      await db().updateTable('users').set({ role: 'admin' }).where('id', '=', person.id).execute();
      expect((await launched(person, { profile_id })).stream).toMatchObject(whole);
    });

    test('a codec alone is no override', async () => {
      const profile_id = await oneRung({ nominal_bitrate_kbps: 8_000 });
      const person = await somebody({ bandwidth_kbps: 5_000 });
      const session = await launched(person, { profile_id, stream: { codec: 'h264' } });
      expect(session.stream.bitrate_kbps).toBe(3_500);
    });
  });

  describe('the H.264 profile', () => {
    const native = (profiles?: string[]) => ({
      client_type: 'native',
      ...(profiles && { decode: { h264: { profiles } } }),
    });
    const makes = (h264_profiles?: string[]) => ({
      encoders: JSON.stringify([
        {
          family: 'openh264',
          gpu_index: 0,
          codec: 'h264',
          available: true,
          live_bitrate: true,
          live_resize: false,
          ...(h264_profiles && { h264_profiles }),
        },
      ]),
    });
    const ALL = makes(['constrained-baseline', 'main', 'high']);
    const client_type = 'native';

    test.each([
      ['a browser', 'high', native(['high']), {}, ALL, 'constrained-baseline'],
      [
        'a native client that was measured in a browser',
        'high',
        { rtt_ms: 5 },
        { client_type },
        ALL,
        'constrained-baseline',
      ],
      ['a native client that lists it', 'high', native(['high']), { client_type }, ALL, 'high'],
      [
        'a native client that lists another',
        'high',
        native(['main']),
        { client_type },
        ALL,
        'constrained-baseline',
      ],
      ['a native client without a list: main', 'main', native(), { client_type }, ALL, 'main'],
      [
        'a native client without a list: not high',
        'high',
        native(),
        { client_type },
        ALL,
        'constrained-baseline',
      ],
      [
        'an override beside it',
        'high',
        native(['high']),
        { client_type, stream: { fps: 30 } },
        ALL,
        'constrained-baseline',
      ],
      ['an override that names it', 'high', null, { stream: { h264_profile: 'high' } }, ALL, 'high'],
      [
        'an encoder that makes main at most',
        'high',
        native(['high']),
        { client_type },
        makes(['constrained-baseline', 'main']),
        'main',
      ],
      [
        'an encoder without a list',
        'high',
        native(['high']),
        { client_type },
        makes(),
        'constrained-baseline',
      ],
    ] as const)('%s', async (_row, h264_profile, capabilities, request, ofHost, expected) => {
      const profile_id = await oneRung({ h264_profile });
      const person = await somebody(capabilities);
      // Hide the other GPUs, because only the first GPU is in that report.
      await db().updateTable('gpus').set({ reported: 0 }).where('gpu_index', '>', 0).execute();
      const session = await withHost(ofHost, () => launched(person, { profile_id, ...request }));
      await db().updateTable('gpus').set({ reported: 1 }).execute();
      expect(session.stream.h264_profile).toBe(expected);
    });
  });
});
