/** Builds the sentence of a verdict, with a clause for each kind of fault in the window. Pure. */
import type { Estimator, Falsifier, VerdictName } from '@footlight/protocol/rest';
import type { NetworkPath } from '@footlight/protocol/telemetry';
import type { Evidence, SeriesName, TraceEventFacts } from './evidence.ts';
import { ANSWER, GPU_FAULT, STALL, XID } from './judged-events.ts';

/** A fault that hosts report, and its clause in the sentence. */
const FAULTS: readonly {
  type: string;
  counts?: (payload: TraceEventFacts['payload']) => boolean;
  says: string;
}[] = [
  {
    type: STALL,
    counts: ({ phase }) => phase !== 'recovered',
    says: 'the encoder stalled',
  },
  {
    type: ANSWER,
    counts: ({ rejected_count }) => typeof rejected_count === 'number' && rejected_count > 0,
    says: 'the viewer rejected a part of the offer',
  },
  { type: XID, says: 'the GPU driver reported an Xid error' },
  { type: GPU_FAULT, says: 'the GPU reported a fault' },
];

/** Events of one kind that the sentence mentions. */
interface Remark {
  type: string;
  clause: string;
}

/**
 * The faults among the events of a window. They do not decide the verdict, because a fault may have caused the problem
 * or be unrelated to it.
 */
export function remarksOn(events: readonly TraceEventFacts[]): Remark[] {
  return FAULTS.flatMap(({ type, counts, says }) => {
    const times = events.filter(
      (event) => event.source === 'agent' && event.type === type && (counts?.(event.payload) ?? true),
    ).length;
    if (times === 0) return [];
    return [{ type, clause: times === 1 ? says : `${says} ${times} times` }];
  });
}

/** What each path costs compared with the direct path by UDP. */
const PATH_COSTS: Readonly<Record<NetworkPath, string | null>> = {
  udp: null,
  tcp: 'the packets went over TCP, where a lost packet delays all later ones',
  turn_udp: 'the packets went through a TURN server, which adds its round trip',
  turn_tcp:
    'the packets went through a TURN server by TCP, which adds its round trip, and a lost packet delays all later ones',
  turn_tls:
    'the packets went through a TURN server by TLS, which adds its round trip, and a lost packet delays all later ones',
};

/**
 * The clause about the path, if the network lost packets or answered slowly. Also for other verdicts, because TCP hides
 * lost packets.
 * @returns null: the path costs nothing, or the network was fast
 */
export function costOfPath(path: NetworkPath | null, falsifiers: readonly Falsifier[]): string | null {
  const isSlow = falsifiers.some(
    ({ name, value, threshold }) =>
      (name === 'transport.rtt_ms' || name === 'transport.packets_lost') &&
      value !== null &&
      value > threshold,
  );
  return path !== null && isSlow ? PATH_COSTS[path] : null;
}

/**
 * @param falsifiers conditions of the verdict with their values
 * @param pathCost clause about the path; null: none
 */
export function reasonOf(
  verdict: VerdictName,
  falsifiers: readonly Falsifier[],
  evidence: Evidence,
  remarks: readonly Remark[],
  pathCost: string | null,
): string {
  const value = (name: SeriesName, estimator: Estimator): number => {
    const found = falsifiers.find((each) => each.name === name && each.estimator === estimator);
    return Math.round((found?.value ?? 0) * 10) / 10;
  };
  const sentences: Record<VerdictName, () => string> = {
    likely_network_congestion: () =>
      `The network lost ${value('transport.packets_lost', 'delta')} packets while the round trip took up to ${value('transport.rtt_ms', 'p95')} ms`,
    likely_encoder_saturation: () =>
      `The encoder took up to ${value('encoder.encode_ms_p95', 'p95')} ms for a frame, and the host fell to ${value('encoder.fps', 'p10')} fps`,
    likely_client_presentation_limit: () =>
      `The host kept ${value('encoder.fps', 'p10')} fps, but ${value('client.present_interval_sd_ms', 'count_ge_threshold')} samples of the viewer show uneven frames`,
    indeterminate_client_hidden: () =>
      'The page was hidden in this time, so how it showed the picture cannot be judged',
    nominal: () => 'No rule found a limit in this time',
    unknown: () =>
      `There are too few samples to judge: ${evidence.window.n_host} of the host and ${evidence.window.n_client} of the viewer`,
  };
  const clauses = [...(pathCost === null ? [] : [pathCost]), ...remarks.map(({ clause }) => clause)];
  return `${[sentences[verdict](), ...clauses].join('; ')}.`;
}
