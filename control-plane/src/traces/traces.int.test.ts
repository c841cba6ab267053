import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSessionsWorld, type SessionsWorld } from '../sessions/testing/world.ts';
import { describeDatabases } from '../testing/index.ts';
import { REPLICAS } from '../testing/replicas.ts';

/** A span of OTLP in JSON; the times are nanoseconds since the epoch. */
interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: { stringValue?: string } }[];
  status: { code?: number; message?: string };
}

describeDatabases('a launch as a trace', (databases) => {
  let collector: Server;
  let spans: Span[];
  let asked: { path: string | undefined; headers: IncomingHttpHeaders }[];
  let status: number;
  let world: SessionsWorld | null = null;

  beforeEach(async () => {
    spans = [];
    asked = [];
    status = 200;
    collector = createServer(async (request, response) => {
      const text = (await request.toArray()).join('');
      asked.push({ path: request.url, headers: request.headers });
      for (const { scopeSpans } of JSON.parse(text).resourceSpans)
        for (const scope of scopeSpans) spans.push(...scope.spans);
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
    await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    await world?.close();
    world = null;
    collector.closeAllConnections();
    await new Promise((resolve) => collector.close(resolve));
  });

  async function open(env: Record<string, string> = {}, replicas = REPLICAS): Promise<SessionsWorld> {
    const { port } = collector.address() as AddressInfo;
    const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}/base`, ...env };
    world = await openSessionsWorld(await databases.fresh(), undefined, variables, {
      replicas: databases.dialect === 'postgres' ? replicas : 1,
    });
    return world;
  }

  /** Ends the service. @returns all spans that it sent */
  async function sent(): Promise<Span[]> {
    await world?.close();
    world = null;
    return spans;
  }

  const attributesOf = (span: Span | undefined) =>
    Object.fromEntries((span?.attributes ?? []).map(({ key, value }) => [key, value.stringValue]));

  async function seePicture(of: SessionsWorld, sessionId: string, payload: object): Promise<void> {
    const event = { ts_unix_ms: of.clock.nowMs(), type: 'client.first_frame', payload };
    const path = `/v1/sessions/${sessionId}/trace/events`;
    const answer = await of.call(of.people.alice, 'POST', path, {
      body: { client: 'browser', events: [event] },
    });
    expect(answer.status).toBe(202);
  }

  const counts = databases.dialect === 'postgres' ? [REPLICAS, 3] : [1];
  test.each(counts)(
    'has the id of its session, and its steps add up to the time until the picture (%i control planes)',
    async (count) => {
      const service = await open({ OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20secret' }, count);
      await service.host('hosta');
      const session = await service.running(service.people.alice, await service.app());
      await service.replicas?.settled();
      await service.pass(700);
      for (const [since_launch_ms, flat] of [
        [500, true],
        [600, false],
        [700, false],
      ]) {
        await seePicture(service, session.id, { since_launch_ms, flat });
      }
      const all = await sent();
      expect(new Set(all.map(({ traceId }) => traceId))).toEqual(new Set([session.id.replaceAll('-', '')]));
      const root = all.find(({ name }) => name === 'launch');
      const steps = all.filter(({ parentSpanId }) => parentSpanId === root?.spanId);
      expect(steps.map(({ name }) => name)).toEqual([
        'admission',
        'session_assign',
        'session_start',
        'starting display',
        'starting app',
        'starting encoder',
        'app booting',
        'picture at the viewer',
      ]);
      expect(all).toHaveLength(steps.length + 1);
      const spent = ({ startTimeUnixNano, endTimeUnixNano }: Span) =>
        (BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano)) / 1_000_000n;
      expect(spent(root as Span)).toBe(600n);
      expect(steps.reduce((sum, step) => sum + spent(step), 0n)).toBe(600n);
      expect(attributesOf(root)).toEqual({
        'footlight.session_id': session.id,
        'footlight.app_id': session.app_id,
        'footlight.host_id': session.host_id,
        'footlight.outcome': 'shown',
      });
      expect(asked[0]?.path).toBe('/base/v1/traces');
      expect(asked[0]?.headers['x-key']).toBe('a secret');
      expect(JSON.stringify(all)).not.toMatch(/alice|a secret/);
    },
  );

  test('of a host that fails is an error with its code', async () => {
    const service = await open();
    await service.host('hosta', { behaviour: { answer: () => ({ code: 'busy', error: 'no room' }) } });
    const { session } = (await service.launch(service.people.alice, await service.app())).body;
    const failed = await service.until(session.id, 'failed');
    const root = (await sent()).find(({ name }) => name === 'launch');
    expect(root?.status).toEqual({ code: 2, message: failed.failure_code });
    expect(attributesOf(root)).toMatchObject({
      'footlight.outcome': 'failed',
      'footlight.failure_code': failed.failure_code,
    });
  });

  test('whatever a viewer reports, the picture was not seen later than the report arrived', async () => {
    const service = await open();
    await service.host('hosta');
    const session = await service.running(service.people.alice, await service.app());
    await seePicture(service, session.id, { since_launch_ms: 1e15 });
    const root = (await sent()).find(({ name }) => name === 'launch');
    const endMs = BigInt(root?.endTimeUnixNano ?? 0) / 1_000_000n;
    expect(endMs).toBeLessThanOrEqual(BigInt(service.clock.nowMs()));
  });

  test('a collector that refuses costs no launch, and is logged', async () => {
    status = 400;
    const service = await open({ OTEL_EXPORTER_OTLP_HEADERS: 'x-key=secret' });
    await service.host('hosta');
    const session = await service.running(service.people.alice, await service.app());
    await seePicture(service, session.id, {});
    expect((await sent()).length).toBeGreaterThan(0);
    const lines = service.log.filter((line) => line.includes('traces.not_sent'));
    expect(lines).toHaveLength(1);
    expect(service.log.join('')).not.toContain('secret');
  });

  test('is not sent where OTEL_SDK_DISABLED says so', async () => {
    const service = await open({ OTEL_SDK_DISABLED: 'true' });
    await service.host('hosta');
    const session = await service.running(service.people.alice, await service.app());
    await seePicture(service, session.id, {});
    expect(await sent()).toEqual([]);
    expect(asked).toEqual([]);
  });
});
