/**
 * Measures the bus between replicas, for scripts/bench bus. Arguments: `far` or `near`, the address of a NATS server,
 * and a list of signaling messages as JSON.
 *
 * `far` acts as the replica with a host's link: it acknowledges each command, and sends each signaling message back. As
 * the reference it also exchanges the same bytes over the same server without Footlight's bus.
 *
 * `near` reads one job per line from standard input and prints its result: the median duration of a command in
 * milliseconds, or the round trips of messages per second.
 */
import { createInterface } from 'node:readline';
import { createLogger, systemClock } from '@footlight/platform';
import type { ControlCommand } from '@footlight/protocol/agent';
import { connect } from '@nats-io/transport-node';
import { hostSubjects } from '../../fleet/index.ts';
import type { Bus } from '../../platform/bus/bus.ts';
import { createInProcessBus } from '../../platform/bus/in-process.ts';
import { createNatsBus } from '../../platform/bus/nats.ts';
import { sessionSubjects } from '../../signaling/index.ts';

const HOST = '11111111-1111-4111-8111-111111111111';
const SESSION = '22222222-2222-4222-8222-222222222222';
const COMMANDS = 2_000;
const SIGNALS = 20_000;
/** Maximum messages that are sent but not returned yet. */
const WINDOW = 200;
const ANSWER_MS = 10_000;
const command: ControlCommand = {
  type: 'session_stop',
  id: HOST,
  session_id: SESSION,
  reason: 'user_requested',
};

const [role = '', server = '', list = '[]'] = process.argv.slice(2);
const texts = JSON.parse(list) as string[];
const logger = createLogger('warn');
const clock = systemClock;
const bus = await createNatsBus(
  { servers: [server], auth: null, tls: null },
  { clock, logger, socketClock: clock },
);
const bare = await connect({ servers: server, noAsyncTraces: true });

function serve(at: Bus): void {
  at.respond(hostSubjects.command, HOST, async () => ({ kind: 'ok' }));
  at.subscribe(hostSubjects.signal, HOST, ({ session_id, conn, text }) =>
    at.publish(sessionSubjects.signal, session_id, { conn, text, last: null }),
  );
}

function ask(at: Bus) {
  return at.request(hostSubjects.command, HOST, { command, timeoutMs: ANSWER_MS }, ANSWER_MS);
}

async function medianOf(one: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < COMMANDS; n += 1) {
    const from = performance.now();
    await one();
    times.push(performance.now() - from);
  }
  return times.sort((a, b) => a - b)[COMMANDS / 2] ?? Number.NaN;
}

interface Conversation {
  send(text: string): void;
  /** Calls `heard` for each message that was sent back. */
  listen(heard: (text: string) => void): { close(): void };
}

const signals: Conversation = {
  send: (text) => bus.publish(hostSubjects.signal, HOST, { session_id: SESSION, conn: 1, text }),
  listen: (heard) => bus.subscribe(sessionSubjects.signal, SESSION, ({ text }) => heard(text)),
};

const bareSignals: Conversation = {
  send: (text) => bare.publish('bare.up', text),
  listen(heard) {
    const subscription = bare.subscribe('bare.down', {
      callback: (_error, message) => heard(message.string()),
    });
    return { close: () => subscription.unsubscribe() };
  },
};

/** Round trips of messages per second. @throws when a message returns changed; waits forever if a message is lost */
async function rateOf({ send, listen }: Conversation): Promise<number> {
  let sent = 0;
  let back = 0;
  const from = performance.now();
  await new Promise<void>((resolve, reject) => {
    const textOf = (n: number) => texts[n % texts.length] ?? '';
    const subscription = listen((text) => {
      if (text !== textOf(back)) reject(new Error(`message ${back} came back as ${text}`));
      back += 1;
      if (sent < SIGNALS) {
        send(textOf(sent));
        sent += 1;
      } else if (back === SIGNALS) {
        subscription.close();
        resolve();
      }
    });
    for (; sent < WINDOW; sent += 1) send(textOf(sent));
  });
  return SIGNALS / ((performance.now() - from) / 1_000);
}

if (role === 'far') {
  serve(bus);
  bare.subscribe('bare.command', { callback: (_error, message) => void message.respond('{"kind":"ok"}') });
  bare.subscribe('bare.up', { callback: (_error, message) => bare.publish('bare.down', message.data) });
  await bare.flush();
} else {
  const inProcess = createInProcessBus({ clock, logger });
  serve(inProcess);
  const jobs: Record<string, () => Promise<number>> = {
    command: () => medianOf(() => ask(bus)),
    'command in process': () => medianOf(() => ask(inProcess)),
    'command bare': () =>
      medianOf(() => bare.request('bare.command', JSON.stringify(command), { timeout: ANSWER_MS })),
    signal: () => rateOf(signals),
    'signal bare': () => rateOf(bareSignals),
  };
  // Wait until the other program has subscribed.
  while ((await ask(bus)).kind !== 'reply');
  process.stdout.write('ready\n');
  for await (const line of createInterface({ input: process.stdin }))
    process.stdout.write(`${JSON.stringify(await jobs[line]?.())}\n`);
}
process.stdout.write('ready\n');
