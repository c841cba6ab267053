import { randomUUID } from 'node:crypto';
import { AGENT_CLOSE, encodeAgentFrame } from '@footlight/protocol/agent';
import { FakeAgent, softwareCapacity } from '@footlight/test-harness';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { FIXED_TOKEN, type FleetWorld, openFleetWorld } from '../testing/world.ts';

/** Close codes that hostile frames may cause; no other code may occur. */
const ALLOWED = new Set<number>([
  AGENT_CLOSE.binary_frame,
  AGENT_CLOSE.frame_too_large,
  AGENT_CLOSE.malformed,
  AGENT_CLOSE.flooded,
]);

/** Turns of the event loop that are needed for 12 MB of reports, at most 64 KiB per turn. */
const TURNS = 300;

const sessionId = randomUUID();
const VALID = [
  softwareCapacity(),
  {
    type: 'heartbeat',
    ts: 1,
    running_sessions: [sessionId],
    gpu_vram: [{ index: 0, used_mb: 1, free_mb: 1 }],
  },
  { type: 'session_state', seq: 1, session_id: sessionId, ts: 1, state: 'running', detail: 'app presented' },
  { type: 'session_metrics', session_id: sessionId, ts: 1, window_ms: 5_000, metrics: { fps: 60, ok: true } },
  {
    type: 'session_trace_event',
    session_id: sessionId,
    ts: 1,
    event: 'encoder.stall',
    payload: { a: { b: 1 } },
  },
  { type: 'image_state', image_id: 'a', version: '1', state: 'ready' },
  { type: 'ack', id: randomUUID(), ok: true },
  { type: 'signaling', session_id: sessionId, conn: 1, msg: { type: 'resumed', pc_id: randomUUID() } },
  { type: 'error', code: 'x', message: 'y' },
  { type: 'from_the_future', id: randomUUID() },
].map((message) => encodeAgentFrame(message as never));

/** A valid frame that was cut or had bytes replaced, or random bytes. */
const hostile = fc.oneof(
  fc.tuple(fc.constantFrom(...VALID), fc.nat(400)).map(([frame, at]) => Buffer.from(frame.slice(0, at))),
  fc
    .tuple(
      fc.constantFrom(...VALID),
      fc.array(fc.tuple(fc.nat(400), fc.integer({ min: 0, max: 255 })), { maxLength: 8 }),
    )
    .map(([frame, changes]) => {
      const bytes = Buffer.from(frame);
      for (const [at, byte] of changes) if (at < bytes.length) bytes[at] = byte;
      return bytes;
    }),
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc.json().map((text) => Buffer.from(text)),
  fc.constantFrom(...VALID).map((frame) => Buffer.from(frame)),
);

describeDatabases('hostile frames on /agent/ws', (databases) => {
  let world: FleetWorld;
  const agents: FakeAgent[] = [];
  beforeAll(async () => {
    world = await openFleetWorld(await databases.fresh());
  });
  afterEach(() => Promise.all(agents.splice(0).map((agent) => agent.drop())));
  afterAll(() => world.close());

  let names = 0;
  const fresh = (): FakeAgent => {
    names += 1;
    const agent = new FakeAgent({
      url: world.url,
      nodeName: `fuzz-${names}`,
      credential: { token: FIXED_TOKEN },
      heartbeatMs: 0,
      clock: world.platform.clock,
    });
    agents.push(agent);
    return agent;
  };

  test('in place of a register close with 4400 and leave no host', async () => {
    await fc.assert(
      fc.asyncProperty(hostile, async (bytes) => {
        const agent = fresh();
        await agent.open();
        agent.sendRaw(bytes, false);
        expect((await agent.closed).code).toBe(AGENT_CLOSE.malformed);
      }),
      { numRuns: 40 },
    );
    expect(await world.platform.database.db.selectFrom('hosts').selectAll().execute()).toEqual([]);
  });

  test('on a registered link are dropped, or close it with a code of the protocol', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(hostile, { minLength: 1, maxLength: 60 }), async (frames) => {
        const agent = fresh();
        await agent.connect();
        for (const bytes of frames) agent.sendRaw(bytes, false);
        agent.heartbeat({ ts: 4_711 });
        const heard = await agent.waitFor('heartbeat_ack', ({ echo }) => echo === 4_711).catch(() => null);
        if (heard === null) expect(ALLOWED).toContain((await agent.closed).code);
        await agent.drop();
      }),
      { numRuns: 20 },
    );
    // The service still answers other agents.
    const bystander = fresh();
    await bystander.connect();
    bystander.heartbeat();
    await bystander.waitFor('heartbeat_ack');
  });

  test('of a mebibyte of needless values are dropped before they are parsed', async () => {
    const agent = fresh();
    await agent.connect();
    agent.sendRaw(`{"type":"heartbeat","ts":1,"running_sessions":[],"more":[${'[],'.repeat(300_000)}[]]}`);
    agent.heartbeat({ ts: 4_712 });
    await agent.waitFor('heartbeat_ack', ({ echo }) => echo === 4_712);
    expect(agent.frames.filter((frame) => frame.includes('"echo":1,'))).toEqual([]);
  });

  test('never store a value that is out of bounds', async () => {
    const agent = fresh();
    const { host_id } = await agent.connect();
    await expect.poll(() => world.handlers.calls).toContain(`reported ${host_id}`);
    const many = <T>(one: T): T[] => Array.from({ length: 65 }, () => one);
    const [live, free] = [
      { live_bitrate: true, live_resize: true },
      { total_mb: 1, available_mb: 1 },
    ];
    // Visible effect of a frame that was accepted although a list in it is too long.
    const other = { gpus: [{ ...softwareCapacity().gpus[0], vram_mb_total: 4_711 }] };
    const flawed = [
      { gpus: Array.from({ length: 1_000 }, (_, index) => ({ ...softwareCapacity().gpus[0], index })) },
      { gpus: [{ ...softwareCapacity().gpus[0], vram_mb_total: -1 }] },
      { gpus: [{ ...softwareCapacity().gpus[0], vram_mb_total: 1e300 }] },
      { gpus: [{ ...softwareCapacity().gpus[0], encode_slots_total: 65 }] },
      { host: { cpu_cores: 1.5, mem_mb: 1 } },
      { codecs: [] },
      {
        ...other,
        encoders: many({ family: 'nvenc', gpu_index: 0, codec: 'h264', available: true, ...live }),
      },
      { ...other, readiness: many({ id: 'a', status: 'ok', summary: 'b', remediation: [] }) },
      { ...other, effective_settings: Object.fromEntries(many('x').map((value, at) => [`k${at}`, value])) },
      { ...other, host: { cpu_cores: 8, mem_mb: 1, storage: many({ label: 'a', path: '/', ...free }) } },
    ];
    for (const change of flawed) agent.sendRaw(JSON.stringify({ ...softwareCapacity(), ...change }));
    agent.heartbeat();
    await agent.waitFor('heartbeat_ack');
    const { body } = await world.call('GET', `/v1/hosts/${host_id}`);
    expect(body).toMatchObject({
      cpu_cores: 8,
      capacity: { gpu_count: 1, slots_total: 4, vram_mb_total: 0 },
    });
  });

  test('a device path with a NUL in it, which no column can store, does not block a capacity report', async () => {
    const agent = fresh();
    agent.capacity = softwareCapacity({}, { render_node: '/dev/dri/\0renderD128' });
    const { host_id } = await agent.connect();
    await expect
      .poll(async () => (await world.call('GET', `/v1/hosts/${host_id}/gpus`)).body)
      .toMatchObject({ items: [{ render_node: '/dev/dri/renderD128' }] });
  });

  test('long reports that wait for the database are read only as far as there is room', async () => {
    const [agent, other] = [fresh(), fresh()];
    for (const one of [agent, other]) {
      const { host_id } = await one.connect();
      await expect.poll(() => world.handlers.calls).toContain(`reported ${host_id}`);
    }
    let release = (): void => {};
    const away = new Promise<void>((resolve) => {
      release = resolve;
    });
    world.handlers.onState = () => away;
    // Fewer messages than the queue may contain, but more bytes.
    const app_log_tail = 'x'.repeat(60_000);
    for (let count = 0; count < 200; count += 1) agent.reportState(randomUUID(), 'stopped', { app_log_tail });
    agent.heartbeat({ ts: 4_711 });
    let heard = false;
    const ack = agent
      .waitFor('heartbeat_ack', ({ echo }) => echo === 4_711, 30_000)
      .then(() => {
        heard = true;
      });
    // Enough turns of the event loop to read everything, if the service did not pause the socket. Other hosts are
    // served meanwhile.
    for (let ts = 1; ts <= TURNS; ts += 1) {
      other.heartbeat({ ts });
      await other.waitFor('heartbeat_ack', ({ echo }) => echo === ts);
    }
    expect(heard).toBe(false);
    release();
    await ack;
    await expect.poll(() => agent.unseen).toBe(0);
  });
});
