import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeAgent, softwareCapacity, TcpRelay, usePostgres } from '@footlight/test-harness';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type DatabaseBeside, databaseBeside } from '../testing/database-beside.ts';
import { askOwnProcess, type OwnProcess, startOwnProcess } from '../testing/own-process.ts';
import { SEED_HINT, testRandom } from '../testing/seed.ts';

const KILLS = process.env.FOOTLIGHT_LONG === '1' ? 200 : 8;
/** Number of reports per process of the control plane; the kill interrupts one of them. */
const REPORTS = 40;
/** Longest pause between two reports. */
const MAX_PAUSE_MS = 3;
/** Longest time from the first report that is stored but not confirmed until the kill. */
const MAX_WAIT_MS = 20;
/** Delay of confirmations that must not arrive before the kill. */
const LOST_MS = 60_000;
const EVENT = 'encoder.stall';
const ADA = { email: 'ada@example.org', password: 'a-long-enough-pass-phrase' };
const ENROLLMENT = 'a-fixed-enrollment-token';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Moments {
  /** The host receives no confirmation of later numbers; null: it receives all. */
  deafFrom: number | null;
  isKilled: boolean;
}

/** Messages for one process of the control plane: numbered events, and the failure of a session. */
interface Life {
  sessionId: string;
  events: number;
}

describe.each(['sqlite', 'postgres'] as const)(
  'a control plane that is killed while a host reports (%s)',
  (dialect) => {
    let folder: string;
    let beside: DatabaseBeside;
    let service: OwnProcess;
    let bearer: string;
    let agent: FakeAgent;
    /** Relay between the host and the service. */
    let relay: TcpRelay;
    let appId: string;
    /** Numbers of the events that were sent. */
    const sentEvents = new Set<number>();
    const random = testRandom();

    const start = async () => {
      service = await startOwnProcess(folder, {
        env: { SERVICE_ENROLLMENT_TOKEN: ENROLLMENT, ...beside.env },
      });
    };
    const call = (method: string, path: string, body?: object, headers = {}) =>
      askOwnProcess(service, method, path, { bearer, body, headers });
    const storedSeqs = async (): Promise<Set<number>> =>
      new Set(
        (
          await beside.rows<{ seq: number | string }>(
            `select seq from session_trace_events where boot_id = '${agent.bootId}'`,
          )
        ).map(({ seq }) => Number(seq)),
      );
    const audited = async (sessionId: string) =>
      beside.rows(`select id from activity where action = 'session.failed' and target_id = '${sessionId}'`);

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'footlight-killed-'));
      beside = await databaseBeside(dialect, folder, usePostgres);
      await start();
      const claimed = await call(
        'POST',
        '/v1/setup/claim',
        { ...ADA, username: 'ada', device_key: 'd' },
        { 'x-service-setup-token': readFileSync(join(folder, 'setup-token'), 'utf8').trim() },
      );
      bearer = claimed.access_token;
      appId = (await call('POST', '/v1/apps', { name: 'Demo', runtime_spec: { args: ['demo'] } })).app.id;
      relay = await TcpRelay.to(new URL(service.url));
      agent = new FakeAgent({
        url: `http://127.0.0.1:${relay.port}`,
        nodeName: 'hosta',
        credential: { token: ENROLLMENT },
        heartbeatMs: 500,
        capacity: softwareCapacity({}, { encode_slots_total: 1 }),
        onFrame(direction, text) {
          const { type, seq } = JSON.parse(text);
          if (direction === 'sent' && type === 'session_trace_event') sentEvents.add(seq);
        },
      });
      await comesBack();
    }, 60_000);
    afterAll(async () => {
      await agent?.drop();
      relay?.close();
      await service?.end('SIGTERM');
      await beside?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    /** Waits until the host is connected, its capacity is known and every report is confirmed. */
    async function comesBack(): Promise<void> {
      relay.targets = [new URL(service.url)];
      await agent.connect();
      const ready = async () => [(await call('GET', '/v1/hosts')).items[0]?.capacity_detection, agent.unseen];
      await vi.waitFor(async () => expect(await ready()).toEqual(['ok', 0]), { timeout: 20_000 });
    }

    async function launched(): Promise<string> {
      const { session } = await call('POST', '/v1/sessions', { app_id: appId });
      const state = async () => (await call('GET', `/v1/sessions/${session.id}`)).session.state;
      await vi.waitFor(async () => expect(await state()).toBe('running'), { timeout: 20_000 });
      await vi.waitFor(() => expect(agent.unseen).toBe(0), { timeout: 20_000 });
      return session.id;
    }

    /** Makes the session fail. Like a real agent, the host lists the session until its end is confirmed. */
    function fails(session_id: string): void {
      const end = { error: 'it crashed', failure_code: 'app_crashed' } as const;
      agent.reportState(session_id, 'failed', { ...end, app_log_tail: 'its last words' });
      agent.hold({ session_id, app_id: appId, state: 'failed', ...end });
    }

    /**
     * Sends texts, the failure of the session and events, some of them after the link broke. From a random report on,
     * the host receives no confirmations, as if the process died before sending them.
     */
    async function reports(sessionId: string, moments: Moments): Promise<Life> {
      const last = REPORTS - 1;
      const [failsAt, deafAt] = [0, 1].map(() => Math.floor(random.number() * last)) as [number, number];
      let events = 0;
      for (let n = 0; n <= last && (n <= failsAt || !moments.isKilled); n += 1) {
        if (n === deafAt) {
          relay.delayMs = LOST_MS;
          moments.deafFrom = Math.max(agent.seen, ...sentEvents);
        }
        if (n === failsAt) fails(sessionId);
        else if (n < failsAt && n % 4 === 0) agent.reportState(sessionId, 'running', { detail: `said ${n}` });
        else {
          events += 1;
          agent.report({
            type: 'session_trace_event',
            session_id: sessionId,
            ts: Date.now(),
            event: EVENT,
            payload: { phase: 'detected', reason: 'no_output', n: events },
          });
        }
        await pause(random.number() * MAX_PAUSE_MS);
      }
      return { sessionId, events };
    }

    /** Expects that no report of this process is lost or stored twice. */
    async function expectWhole({ sessionId, events }: Life): Promise<void> {
      const rows = await beside.rows<{ payload: string }>(
        `select payload from session_trace_events where session_id = '${sessionId}' and type = '${EVENT}' order by seq`,
      );
      const told = rows.map(({ payload }) => JSON.parse(payload).n);
      expect(told, SEED_HINT).toEqual(Array.from({ length: events }, (_, n) => n + 1));
      const { session } = await call('GET', `/v1/sessions/${sessionId}`);
      expect(session, SEED_HINT).toMatchObject({
        state: 'failed',
        error_message: 'it crashed',
        failure_code: 'app_crashed',
        app_log_tail: 'its last words',
      });
      const [host] = (await call('GET', '/v1/hosts')).items;
      expect(host.capacity, SEED_HINT).toMatchObject({ slots_used: 0, active_sessions: 0 });
      // The log entry is written after the commit, so a kill in between leaves no entry.
      expect((await audited(sessionId)).length, SEED_HINT).toBeLessThanOrEqual(1);
    }

    test(
      `${KILLS} times between the store and the confirmation: nothing is lost or doubled`,
      async () => {
        for (let n = 0; n < KILLS; n += 1) {
          const sessionId = await launched();
          const moments: Moments = { deafFrom: null, isKilled: false };
          const life = reports(sessionId, moments);
          const unconfirmed = async () =>
            [...(await storedSeqs())].filter((seq) => seq > (moments.deafFrom ?? Number.POSITIVE_INFINITY));
          await vi.waitFor(async () => expect(await unconfirmed()).not.toEqual([]), { timeout: 20_000 });
          await pause(random.number() * MAX_WAIT_MS);
          moments.isKilled = true;
          await service.end('SIGKILL');
          relay.cut();
          relay.delayMs = 0;
          await agent.closed;
          const sent = await life;
          expect(await unconfirmed(), SEED_HINT).not.toEqual([]);
          const stored = await storedSeqs();
          const lost = [...sentEvents].filter((seq) => seq <= agent.seen && !stored.has(seq));
          expect(lost, SEED_HINT).toEqual([]);
          await start();
          await comesBack();
          agent.sessions.delete(sessionId);
          await expectWhole(sent);
        }
      },
      60_000 + KILLS * 30_000,
    );
  },
);
