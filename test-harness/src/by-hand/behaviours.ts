import type { Behaviour, LaunchStep } from '../fake-agent/index.ts';

interface NamedBehaviour {
  /** What the fake host does, for the usage text. */
  does: string;
  behaviour: Partial<Behaviour>;
}

const STARTING: readonly LaunchStep[] = [
  { state: 'starting', detail: 'starting display' },
  { state: 'starting', detail: 'starting app' },
];
const SLOW_STEP_MS = 3_000;

/** Behaviours of a fake host by the word that selects them; several words add up. */
export const BEHAVIOURS: Readonly<Record<string, NamedBehaviour>> = {
  silent: { does: 'acknowledges no command', behaviour: { answer: () => 'silence' } },
  refuses: {
    does: 'refuses each command as busy',
    behaviour: { answer: () => ({ code: 'busy', error: 'refused by hand' }) },
  },
  slow: {
    does: 'takes 3 s for each ack and each step of a launch',
    behaviour: {
      ackDelayMs: SLOW_STEP_MS,
      launch: [
        ...STARTING,
        { state: 'starting' as const, detail: 'starting encoder' },
        { state: 'running' as const, detail: 'app booting' },
        { state: 'running' as const, detail: 'app presented' },
      ].map((step) => ({ ...step, afterMs: SLOW_STEP_MS })),
    },
  },
  stuck: { does: 'starts apps that never draw', behaviour: { launch: STARTING } },
  fails: {
    does: 'fails each launch after its app has started',
    behaviour: { launch: [...STARTING, { state: 'failed', detail: 'starting app' }] },
  },
  frozen: { does: 'keeps its socket open and says nothing', behaviour: { frozen: true } },
  duplicate: { does: 'sends each report twice', behaviour: { duplicate: true } },
  reorder: { does: 'sends each pair of reports in reverse', behaviour: { reorder: true } },
  swallow: { does: 'sends no report', behaviour: { swallow: true } },
  'no-swap': {
    does: 'rolls each change of app back',
    behaviour: { swap: { rolled_back: 'refused by hand' } },
  },
};

/** @throws Error naming the words that exist, for one that does not */
export function behaviourOf(words: readonly string[]): Partial<Behaviour> {
  const unknown = words.find((word) => !Object.hasOwn(BEHAVIOURS, word));
  if (unknown !== undefined)
    throw new Error(`There is no behaviour '${unknown}'; there are ${Object.keys(BEHAVIOURS).join(', ')}.`);
  return Object.assign({}, ...words.map((word) => BEHAVIOURS[word]?.behaviour));
}
