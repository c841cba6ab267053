/**
 * bus: the cost of a host that is connected to another replica. A command to the host and its answer, over NATS and in
 * process, compared with a bare NATS request of the same bytes; signaling messages to the other replica and back,
 * compared with bare forwarding over the same server.
 */
import { systemClock, within } from '@footlight/platform';
import { startNats } from '../src/nats.ts';
import { CORES, startWorker, type Worker } from './api/load.ts';
import { makeNegotiation } from './media/negotiation.ts';
import { alternate, exitStatus, judge, median, printVerdict, round2 } from './rounds.ts';

const PROGRAM = 'control-plane/src/testing/large/bus-main.ts';
/**
 * Largest additional time of a command over NATS, compared with a command in the same process: median, milliseconds.
 */
const COMMAND_MARK_MS = 1;
/** Smallest ratio of messages per second. */
const SIGNAL_MARK = 0.5;
const JOB_LIMIT_MS = 60_000;

/** @returns exit status: the worst of both figures */
export async function benchBus(rounds: number): Promise<number> {
  const server = await startNats();
  const { up, down } = makeNegotiation();
  const texts = JSON.stringify([...up, ...down].map((message) => JSON.stringify(message)));
  const workers: Worker[] = [];
  const start = async (core: number, role: string): Promise<Worker> => {
    const worker = startWorker(core, PROGRAM, [role, server.address, texts], { NODE_ENV: 'production' });
    workers.push(worker);
    for (let line = await worker.line(); line !== 'ready'; ) line = await worker.line();
    return worker;
  };
  try {
    await start(CORES.server, 'far');
    const near = await start(CORES.load, 'near');
    const run = async (job: string): Promise<number> => {
      near.send(job);
      const line = await within(systemClock, JOB_LIMIT_MS, near.line(), null);
      if (line === null) throw new Error(`${job}: no figure within ${JOB_LIMIT_MS} ms; was a message lost?`);
      return JSON.parse(line) as number;
    };
    const inProcess: number[] = [];
    const [commands = [], signals = []] = await alternate(
      rounds,
      {
        reference: async () => [await run('command bare'), await run('signal bare')],
        async subject() {
          inProcess.push(await run('command in process'));
          return [await run('command'), await run('signal')];
        },
      },
      ['bus command', 'bus signal'],
    );
    const inProcessMs = median(inProcess);
    const command = judge('bus command', commands, (_, ms) => ms - inProcessMs <= COMMAND_MARK_MS, 'ms');
    printVerdict({
      ...command,
      inProcessMs: round2(inProcessMs),
      mark: `${COMMAND_MARK_MS} ms more than in process`,
    });
    const signal = judge('bus signal', signals, (ratio) => ratio >= SIGNAL_MARK);
    printVerdict({ ...signal, mark: SIGNAL_MARK });
    return Math.max(exitStatus(command.verdict), exitStatus(signal.verdict));
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await server.stop();
  }
}
