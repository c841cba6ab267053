/**
 * relay: 200 viewers and the agents of their sessions negotiate through the service, 20 times each: an offer, an answer
 * and the candidates of both ends, every message compared byte by byte. The references are a bare ws server that
 * forwards the bytes unchanged, and the signaling server of PeerJS with the same messages in its own envelope. A viewer
 * may send 200 messages at once and 50 a second after that. A round stays below 200 messages per viewer, and uses
 * enough sockets to keep the server's core busy.
 */

import { cpuMs } from '../api/load.ts';
import { type Side, startReference, withFleet } from '../fleet/fleet-instance.ts';
import { alternate, exitStatus, judge, median, printLine, printVerdict, round2 } from '../rounds.ts';

export type RelaySide = 'control' | 'pipe' | 'peer';

export type RelayJob =
  /** Opens all pairs and prepares their messages. */
  { kind: 'open'; side: RelaySide; url: string } | { kind: 'run' } | { kind: 'close' };

export interface RelayFigures {
  messages: number;
  seconds: number;
}

const PAIRS = 200;
const MARKS = { pipe: 0.5, peer: 1 };

/** @returns the exit status */
export async function benchRelay(rounds: number): Promise<number> {
  const size = { hosts: PAIRS, sessionsEach: 1 };
  return withFleet(size, 'test-harness/bench/relay/relay-load-main.ts', async ({ load, startControl }) => {
    const sides: Record<RelaySide, Side> = {
      control: await startControl(),
      pipe: await startReference('test-harness/bench/relay/bare-relay-main.ts'),
      peer: await startReference('test-harness/bench/relay/peer-main.mjs'),
    };
    const cpuUs: Record<RelaySide, number[]> = { control: [], pipe: [], peer: [] };
    const ask = async (job: RelayJob) => {
      load.send(JSON.stringify(job));
      return JSON.parse(await load.line()) as RelayFigures | null;
    };
    /** Messages a second. */
    const measure = async (side: RelaySide): Promise<number> => {
      const { url, pid } = sides[side];
      await ask({ kind: 'open', side, url });
      const before = cpuMs(pid);
      const figures = await ask({ kind: 'run' });
      if (figures === null) throw new Error('the load generator ran nothing');
      cpuUs[side].push(((cpuMs(pid) - before) * 1_000) / figures.messages);
      await ask({ kind: 'close' });
      return figures.messages / figures.seconds;
    };
    try {
      const [pipe = [], peer = []] = await alternate(
        rounds,
        {
          reference: async () => [await measure('pipe'), await measure('peer')],
          async subject() {
            const figure = await measure('control');
            return [figure, figure];
          },
        },
        ['relay beside a pipe', 'relay beside peer'],
      );
      const unit = 'messages a second';
      const judgements = [
        { ...judge('relay beside a pipe', pipe, (ratio) => ratio >= MARKS.pipe, unit), mark: MARKS.pipe },
        { ...judge('relay beside peer', peer, (ratio) => ratio >= MARKS.peer, unit), mark: MARKS.peer },
      ];
      for (const judgement of judgements) printVerdict(judgement);
      // CPU load of the server, without the discarded round; it shows whether the server's core was fully used.
      const cpu = (side: RelaySide) => round2(median(cpuUs[side].slice(1)));
      printLine({
        bench: 'relay cpu',
        unit: 'us a message',
        control: cpu('control'),
        pipe: cpu('pipe'),
        peer: cpu('peer'),
      });
      return Math.max(...judgements.map(({ verdict }) => exitStatus(verdict)));
    } finally {
      await Promise.all(Object.values(sides).map((side) => side.stop()));
    }
  });
}
