/** Builds the sentence of a verdict, with a clause for each kind of fault in the window. Pure. */
import type { Estimator, Falsifier, VerdictName } from '@footlight/protocol/rest';
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

/** @param falsifiers conditions of the verdict with their values */
export function reasonOf(
  verdict: VerdictName,
  falsifiers: readonly Falsifier[],
  evidence: Evidence,
  remarks: readonly Remark[],
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
  return `${[sentences[verdict](), ...remarks.map(({ clause }) => clause)].join('; ')}.`;
}
