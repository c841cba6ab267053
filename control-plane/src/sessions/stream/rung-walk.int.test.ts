import { expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { useStreamWorld } from '../testing/stream-world.ts';

describeDatabases(
  'the rung walk after placement: the first rung that passes all, and why the better ones do not',
  (databases) => {
    const { world, catalog, db, named, somebody, oneProfile, launched, answered, withHost } =
      useStreamWorld(databases);

    const MANY_CODECS = { codecs: JSON.stringify(['h264', 'h265', 'av1']) };
    const DECODES = { codecs: { hevc: true, av1: true } };
    const plain = { codec: 'h264' } as const;

    test.each([
      ['1 host_encoder', { codec: 'av1' }, DECODES, {}, 'host_encoder'],
      [
        '1 host_encoder: nothing reported is H.264 alone',
        { codec: 'hevc' },
        DECODES,
        { codecs: null },
        'host_encoder',
      ],
      ['2 client_decode', { codec: 'hevc' }, { rtt_ms: 5 }, MANY_CODECS, 'client_decode'],
      ['2 client_decode: without a measurement too', { codec: 'av1' }, null, MANY_CODECS, 'client_decode'],
      ['3 decode_height', { min_decode_height: 2_160 }, { max_decode_height: 1_080 }, {}, 'decode_height'],
      ['5 hardware_encoder', { hardware_encoder_required: true }, null, {}, 'hardware_encoder'],
      ['6 encoder_throughput', { width: 3840, height: 2160, fps: 60 }, null, {}, 'encoder_throughput'],
    ] as const)('%s', async (_clamp, better, capabilities, ofHost, rejected_by) => {
      const profile_id = await oneProfile([better, plain]);
      const person = await somebody(capabilities);
      const session = await withHost(ofHost, () => launched(person, { profile_id }));
      expect(session).toMatchObject({
        profile_id,
        stream_profile_id: `${profile_id}-1`,
        stream: { codec: 'h264' },
        codec_decision: {
          result_rung: `${profile_id}-1`,
          result_codec: 'h264',
          override: null,
          floor: false,
          considered: [
            { rung_id: `${profile_id}-0`, rejected_by, selected: false, clamps_bypassed: [] },
            { rung_id: `${profile_id}-1`, rejected_by: null, selected: true, clamps_bypassed: [] },
          ],
        },
      });
    });

    test('decode_history applies to every launch profile, and only for that codec', async () => {
      const first = await oneProfile([{ codec: 'av1' }, plain]);
      const person = await somebody(DECODES);
      const device = await db()
        .selectFrom('devices')
        .select('id')
        .where('user_id', '=', person.id)
        .executeTakeFirstOrThrow();
      const failure = {
        device_id: device.id,
        launch_profile_id: 'another',
        stream_profile_id: `${first}-0`,
        codec: 'h264' as 'h264' | 'av1',
        outcome: 'fail' as const,
        recorded_at: world().clock.nowMs(),
      };
      const second = named('profile');
      await catalog().rung(`${second}-1`);
      await catalog().profile(second, [`${first}-0`, `${second}-1`]);
      const rungOf = async () =>
        (await withHost(MANY_CODECS, () => launched(person, { profile_id: second }))).codec_decision
          ?.considered[0];
      await db().insertInto('client_failures').values(failure).execute();
      expect(await rungOf()).toMatchObject({ rejected_by: null, selected: true });
      await db()
        .insertInto('client_failures')
        .values({ ...failure, codec: 'av1' })
        .execute();
      expect(await rungOf()).toMatchObject({ rejected_by: 'decode_history', selected: false });
    });

    test.each([
      ['decode_height: a height that was not measured', { min_decode_height: 2_160 }, { rtt_ms: 5 }, {}],
      [
        'decode_height: as many lines as it needs',
        { min_decode_height: 1_080 },
        { max_decode_height: 1_080 },
        {},
      ],
      [
        'hardware_encoder: a host whose encoder is not known',
        { hardware_encoder_required: true },
        null,
        { effective_settings: null },
      ],
      [
        'encoder_throughput: a throughput that was not reported',
        { width: 3840, height: 2160 },
        null,
        { codec_throughput: null },
      ],
      [
        'encoder_throughput: a throughput of 0',
        { width: 3840, height: 2160 },
        null,
        { codec_throughput: JSON.stringify({ h264: { max_pixel_rate_mpix_s: 0 } }) },
      ],
    ] as const)('passes %s', async (_clamp, best, capabilities, ofHost) => {
      const profile_id = await oneProfile([best, plain]);
      const person = await somebody(capabilities);
      const session = await withHost(ofHost, () => launched(person, { profile_id }));
      expect(session.stream_profile_id).toBe(`${profile_id}-0`);
      expect(session.codec_decision?.considered).toHaveLength(1);
    });

    test.each([
      ['the last H.264 rung', [plain, plain, { codec: 'av1' }], 3],
      ['else the last rung', [{ codec: 'av1' }, { codec: 'hevc' }, plain], 2],
    ] as const)('none passes: %s, with every clamp bypassed', async (_floor, rungs, left) => {
      const floor = 1;
      const profile_id = await oneProfile(
        rungs.map((fields) => ({ ...fields, hardware_encoder_required: true })),
      );
      // A chain without an H.264 rung can no longer be created, but an older release may have stored one.
      await db()
        .deleteFrom('launch_profile_rungs')
        .where('launch_profile_id', '=', profile_id)
        .where('stream_profile_id', '=', `${profile_id}-${left}`)
        .execute();
      const session = await launched(await somebody(null), { profile_id });
      expect(session).toMatchObject({
        stream_profile_id: `${profile_id}-${floor}`,
        codec_decision: { floor: true, result_rung: `${profile_id}-${floor}` },
      });
      const considered = session.codec_decision?.considered ?? [];
      expect(considered.filter(({ rejected_by }) => rejected_by === null)).toEqual([]);
      expect(considered.map(({ clamps_bypassed }) => clamps_bypassed.length)).toEqual(
        rungs.slice(0, left).map((_, at) => (at === floor ? 6 : 0)),
      );
    });

    test('a codec override: the first rung with it, and only the host may refuse it', async () => {
      const profile_id = await oneProfile([plain, { codec: 'av1', hardware_encoder_required: true }]);
      const person = await somebody({ codecs: { av1: false } });
      const request = { profile_id, stream: { codec: 'av1' } };
      expect(await answered(person, request)).toEqual([409, 'conflict']);
      const session = await withHost(MANY_CODECS, () => launched(person, request));
      expect(session).toMatchObject({
        stream_profile_id: `${profile_id}-1`,
        stream: { codec: 'av1' },
        codec_decision: { override: 'av1', floor: false, result_codec: 'av1' },
      });
    });
  },
);
