import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger, systemClock, systemRandom } from '@footlight/platform';
import { ManualClock } from '@footlight/platform/testing';
import { assignment } from '@footlight/test-harness/fake-control';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Displays } from '../../console/displays.ts';
import { HostConsole } from '../../console/host-console.ts';
import type { ReliableMessage } from '../../link/outbox.ts';
import { HomeLocks } from '../home/home-locks.ts';
import type { SessionDeps } from '../life/session-plan.ts';
import { Supervisor } from '../supervisor.ts';
import { Quarantine } from './quarantine.ts';
import { UidPool } from './uid-pool.ts';

const S = 1_000;

let stateDir: string;
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'footlight-orphans-'));
});
afterEach(() => rm(stateDir, { recursive: true, force: true }));

const NOTHING: Displays = {
  read: async () => ({ connectors: [], outputs: [], audio_sinks: [], input_devices: [] }),
};

/** Creates a host with one session. The session waits for a home, so it needs no resources of the machine. */
async function host(orphanSecs: number, graceSecs: number, uids: UidPool | null = null) {
  const clock = new ManualClock();
  const reports: ReliableMessage[] = [];
  // Uses a separate clock, so that the wait for the home does not end.
  const homes = new HomeLocks(new ManualClock());
  const ref = join(stateDir, 'homes', 'alice', 'app');
  homes.tryTake(ref);
  const supervisor = new Supervisor(
    {
      orphanSecs,
      console: new HostConsole(NOTHING, {
        lacks: () => 'connector',
        open: () => Promise.reject(new Error('none')),
        reclaim: () => undefined,
      }),
      containers: { refusal: async () => null },
      context: () => ({
        processRuntime: true,
        hidden: { dirs: [], except: [] },
        containerEngine: false,
        homeRoot: join(stateDir, 'homes'),
        ownsHomeRoot: true,
        encoderFamily: 'openh264',
        encoders: [
          {
            family: 'openh264',
            gpu_index: 0,
            codec: 'h264',
            available: true,
            live_bitrate: true,
            live_resize: true,
          },
        ],
        gpus: [0],
        settings: {},
        media: { addresses: null, ports: null },
        maxFileMb: null,
        gpu: () => ({ renderNode: null, cdiName: null }),
        gpuGroups: () => [],
      }),
    },
    {
      clock,
      random: systemRandom,
      logger: silentLogger(),
      link: {
        report: (message) => reports.push(message),
        event: () => undefined,
        metrics: () => undefined,
        signaling: () => undefined,
      },
      // A fake recorder that records nothing.
      recorder: {
        begin: () => undefined,
        follow: () => undefined,
        end: () => undefined,
        command: async () => ({ ok: false, code: 'unsupported', error: 'nothing is recorded' }),
      },
      homes,
      quarantine: new Quarantine({ clock: systemClock, logger: silentLogger() }),
      uids,
      stateDir,
    } as Pick<
      SessionDeps,
      'clock' | 'random' | 'logger' | 'link' | 'recorder' | 'homes' | 'quarantine' | 'uids' | 'stateDir'
    > as SessionDeps,
  );
  supervisor.registered(graceSecs);
  supervisor.linkUp = true;
  const body = assignment(['xterm']);
  body.app.home = { provider: 'local', ref, container_path: '/home' };
  expect(await supervisor.command({ ...body, id: '11111111-1111-4111-8111-111111111111' })).toEqual({
    ok: true,
  });
  const ends = () =>
    reports.flatMap((report) =>
      report.type === 'session_state' && report.reason !== undefined ? [report.reason] : [],
    );
  return { supervisor, clock, ends, body };
}

describe('sessions without a control plane', () => {
  test.each([
    [600, 600, 600],
    [100, 600, 600],
    [900, 600, 900],
    [600, 30, 600],
  ])('with %i s and a grace of %i s they end after %i s', async (orphanSecs, graceSecs, limit) => {
    const { supervisor, clock, ends } = await host(orphanSecs, graceSecs);
    supervisor.linkUp = false;
    clock.advance(limit * S - 1);
    expect(ends()).toEqual([]);
    clock.advance(1);
    expect(ends()).toEqual(['orphaned']);
    await expect.poll(ends).toEqual(['orphaned', 'orphaned']);
  });

  test('with 0 they never end', async () => {
    const { supervisor, clock, ends } = await host(0, 600);
    supervisor.linkUp = false;
    clock.advance(365 * 24 * 3_600 * S);
    expect(ends()).toEqual([]);
    await supervisor.close('agent_shutdown', 8 * S);
  });

  test('the time counts from the last loss of the link', async () => {
    const { supervisor, clock, ends } = await host(600, 600);
    supervisor.linkUp = false;
    clock.advance(599 * S);
    supervisor.linkUp = true;
    clock.advance(10 * S);
    supervisor.linkUp = false;
    clock.advance(599 * S);
    expect(ends()).toEqual([]);
    clock.advance(1 * S);
    expect(ends()).toEqual(['orphaned']);
    await expect.poll(ends).toEqual(['orphaned', 'orphaned']);
  });
});

test('an assignment that is decided while the agent stops is refused, and holds no user', async () => {
  const uids = new UidPool([71_620, 71_621]);
  const { supervisor, body } = await host(600, 600, uids);
  const session_id = '22222222-2222-4222-8222-222222222222';
  const verdict = supervisor.command({
    ...{ ...body, session_id },
    id: '33333333-3333-4333-8333-333333333333',
  });
  // The assignment was accepted, and the agent is reading the owner of the home from the disk.
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  const closed = supervisor.close('agent_shutdown', 8 * S);
  expect(await verdict).toMatchObject({ ok: false, code: 'busy' });
  expect(supervisor.held().map((held) => held.session_id)).not.toContain(session_id);
  await closed;
});

test('at most 1,024 reports are kept for a control plane that stops endless unknown sessions', async () => {
  const { supervisor, ends } = await host(600, 600);
  const stop = () =>
    supervisor.command({
      type: 'session_stop',
      id: randomUUID(),
      session_id: randomUUID(),
      reason: 'unknown_session',
    });
  const verdicts = await Promise.all(Array.from({ length: 1_100 }, stop));
  expect(verdicts.filter(({ ok }) => ok)).toHaveLength(1_024);
  expect(verdicts.at(-1)).toMatchObject({ ok: false, code: 'busy' });
  expect(ends()).toHaveLength(1_024);
  supervisor.seen(Number.MAX_SAFE_INTEGER);
  expect(await stop()).toEqual({ ok: true });
  await supervisor.close('agent_shutdown', 8 * S);
});
