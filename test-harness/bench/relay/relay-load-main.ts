/**
 * Pairs of a viewer and an agent in one process: reads one job a line from standard input and answers each with one
 * line. Argument: a file with the fleet as large-fleet-main prints it; each host is the agent of a pair, with one
 * session.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { type AgentMessage, encodeAgentFrame } from '@footlight/protocol/agent';
import { encodeBrowserFrame } from '@footlight/protocol/signal';
import { fetch } from 'undici';
import { softwareCapacity } from '../../src/fake-agent/index.ts';
import type { Fleet } from '../fleet/fleet-instance.ts';
import { clientFrame, RawSocket } from '../fleet/raw-socket.ts';
import { MESSAGES_EACH, makeNegotiation } from '../media/negotiation.ts';
import type { RelayFigures, RelayJob, RelaySide } from './relay.ts';

/** Pairs that open at the same time; the service allows ten unfinished viewer handshakes per address. */
const AT_ONCE = 8;
/**
 * Negotiations of a pair, one after the other. A viewer may send 200 messages at once, and sends nine in each
 * negotiation.
 */
const NEGOTIATIONS = 20;
const RUN_LIMIT_MS = 60_000;

/** A message: the text that one end sends, and the text that the other end must receive. */
interface Passage {
  sent: string;
  received: string;
}

/** A viewer and the agent of its session, connected through the measured server. */
interface Pair {
  readonly viewer: RawSocket;
  readonly agent: RawSocket;
  /** From the viewer to the agent. */
  up(message: string): Passage;
  /** From the agent to the viewer. */
  down(message: string): Passage;
}

/** All messages of one negotiation, prepared for sending and comparing. */
interface Script {
  offer: Buffer;
  answer: Buffer;
  atViewer: Buffer[];
  atAgent: Buffer[];
}

const fleet = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Fleet;
let conversations: { pair: Pair; scripts: Script[] }[] = [];

const sides: Record<RelaySide, (url: string, host: Fleet['hosts'][number]) => Promise<Pair>> = {
  async control(url, { nodeName, sessions, ownerToken }) {
    const [session_id = ''] = sessions;
    const agent = await openAgent(url, nodeName, session_id);
    const { viewer, conn } = await openViewer(url, session_id, ownerToken, agent);
    const envelope = (msg: string) =>
      `{"type":"signaling","session_id":"${session_id}","conn":${conn},"msg":${msg}}`;
    return {
      viewer,
      agent,
      up: (message) => ({ sent: message, received: envelope(message) }),
      down: (message) => ({ sent: envelope(message), received: message }),
    };
  },

  async pipe(url, { nodeName }) {
    const address = `${url}/?${nodeName}`;
    const same = (message: string) => ({ sent: message, received: message });
    return {
      viewer: await RawSocket.open(address),
      agent: await RawSocket.open(address),
      up: same,
      down: same,
    };
  },

  async peer(url, { nodeName }) {
    const ends = { viewer: `viewer-${nodeName}`, agent: `agent-${nodeName}` };
    const open = async (id: string) => {
      const socket = await RawSocket.open(`${url}/peerjs?key=peerjs&token=t&id=${id}`);
      await heard(socket, ({ type }) => type === 'OPEN');
      return socket;
    };
    const between = (src: string, dst: string) => (message: string) => {
      const payload = JSON.parse(message) as { type: string };
      const type = payload.type.toUpperCase();
      return {
        sent: JSON.stringify({ type, payload, dst }),
        received: JSON.stringify({ type, src, dst, payload }),
      };
    };
    return {
      viewer: await open(ends.viewer),
      agent: await open(ends.agent),
      up: between(ends.viewer, ends.agent),
      down: between(ends.agent, ends.viewer),
    };
  },
};

interface Heard {
  type: string;
  id: string;
  conn: number;
  msg: { type: string };
}

/** Waits for a message that the predicate accepts. */
function heard(socket: RawSocket, isIt: (message: Heard) => boolean): Promise<Heard> {
  return new Promise((resolve, reject) => {
    socket.onClose = (why) => reject(new Error(why));
    socket.onText = (bytes) => {
      const message = JSON.parse(bytes.toString('utf8')) as Heard;
      if (isIt(message)) resolve(message);
    };
  });
}

/** Registers, reports its capacity, and receives its configuration; afterwards only relayed messages arrive. */
async function openAgent(url: string, nodeName: string, session_id: string): Promise<RawSocket> {
  const boot_id = randomUUID();
  const socket = await RawSocket.open(`${url}/agent/ws`, {
    'X-Service-Node': nodeName,
    'X-Service-Boot': boot_id,
    Authorization: `Bearer ${nodeName.repeat(3)}`,
  });
  const send = (message: AgentMessage) => socket.send(clientFrame(encodeAgentFrame(message)));
  send({
    type: 'register',
    node_name: nodeName,
    agent_version: '0.0.0-bench',
    protocol: { min: 1, max: 1 },
    boot_id,
    features: [],
    sessions: [{ session_id, app_id: fleet.appId, state: 'running', started_at: Date.now(), viewer: false }],
  });
  const { id } = await heard(socket, ({ type }) => type === 'config_update');
  send(softwareCapacity());
  send({ type: 'ack', id, ok: true });
  return socket;
}

/** @returns conn: the agent's number for this socket */
async function openViewer(
  url: string,
  sessionId: string,
  token: string,
  agent: RawSocket,
): Promise<{ viewer: RawSocket; conn: number }> {
  const answer = await fetch(`${url}/v1/sessions/${sessionId}/signaling-token`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  });
  if (answer.status !== 201) throw new Error(`no signaling token: ${answer.status} ${await answer.text()}`);
  const { signaling } = (await answer.json()) as { signaling: { token: string } };
  const viewer = await RawSocket.open(`${url}/v1/signal?token=${signaling.token}`);
  const attached = heard(agent, ({ type, msg }) => type === 'signaling' && msg.type === 'attach');
  const ready = heard(viewer, ({ type }) => type === 'ready');
  const hello = encodeBrowserFrame({
    type: 'hello',
    protocol: 1,
    client_id: randomUUID(),
    client: { kind: 'native' },
    codecs: ['h264'],
  });
  viewer.send(clientFrame(hello));
  const [{ conn }] = await Promise.all([attached, ready]);
  return { viewer, conn };
}

function prepare(pair: Pair): Script[] {
  return Array.from({ length: NEGOTIATIONS }, () => {
    const { up, down } = makeNegotiation();
    const ups = up.map((message) => pair.up(JSON.stringify(message)));
    const downs = down.map((message) => pair.down(JSON.stringify(message)));
    const frames = (passages: readonly Passage[]) =>
      Buffer.concat(passages.map(({ sent }) => clientFrame(sent)));
    const expected = (passages: readonly Passage[]) => passages.map(({ received }) => Buffer.from(received));
    return {
      offer: frames(downs),
      answer: frames(ups),
      atViewer: expected(downs),
      atAgent: expected(ups),
    };
  });
}

async function open({ side, url }: RelayJob & { kind: 'open' }): Promise<void> {
  const hosts = fleet.hosts.values();
  conversations = [];
  const some = async () => {
    for (const host of hosts) {
      const pair = await sides[side](url, host);
      conversations.push({ pair, scripts: prepare(pair) });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, some));
}

/**
 * Runs one negotiation after the other. An end sends all messages of one step in one write.
 * @throws when a message differs from the expected one by a byte
 */
function converse(pair: Pair, scripts: readonly Script[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let at = 0;
    let atViewer = 0;
    let atAgent = 0;
    const check = (bytes: Buffer, expected: Buffer | undefined) => {
      if (expected === undefined || !bytes.equals(expected))
        reject(new Error(`${bytes.toString('utf8')} came instead of ${expected?.toString('utf8')}`));
    };
    const next = () => {
      if (atViewer < MESSAGES_EACH || atAgent < MESSAGES_EACH) return;
      at += 1;
      begin();
    };
    const begin = () => {
      const script = scripts[at];
      if (script === undefined) return resolve();
      atViewer = 0;
      atAgent = 0;
      pair.agent.send(script.offer);
    };
    pair.viewer.onText = (bytes) => {
      const script = scripts[at];
      check(bytes, script?.atViewer[atViewer]);
      atViewer += 1;
      if (script !== undefined && atViewer === 1) pair.viewer.send(script.answer);
      next();
    };
    pair.agent.onText = (bytes) => {
      check(bytes, scripts[at]?.atAgent[atAgent]);
      atAgent += 1;
      next();
    };
    for (const socket of [pair.viewer, pair.agent]) socket.onClose = (why) => reject(new Error(why));
    begin();
  });
}

async function run(): Promise<RelayFigures> {
  let limit: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    limit = setTimeout(
      () => reject(new Error(`messages are missing after ${RUN_LIMIT_MS} ms`)),
      RUN_LIMIT_MS,
    );
  });
  const startedMs = performance.now();
  await Promise.race([Promise.all(conversations.map(({ pair, scripts }) => converse(pair, scripts))), late]);
  clearTimeout(limit);
  const messages = conversations.length * NEGOTIATIONS * MESSAGES_EACH * 2;
  return { messages, seconds: (performance.now() - startedMs) / 1_000 };
}

async function answer(job: RelayJob): Promise<RelayFigures | null> {
  switch (job.kind) {
    case 'open':
      await open(job);
      return null;
    case 'run':
      return run();
    case 'close':
      for (const { pair } of conversations) {
        pair.viewer.destroy();
        pair.agent.destroy();
      }
      return null;
  }
}

for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line) as RelayJob))}\n`);
