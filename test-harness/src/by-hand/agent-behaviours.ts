import type { HeldSession } from '@footlight/protocol/agent';
import { type Behaviour, honest, type LaunchStep } from '../fake-agent/index.ts';
import { chosen, type NamedBehaviour } from './choice.ts';

interface AgentBehaviour extends NamedBehaviour {
  /** Adds this fault to a behaviour, which may already have the faults of other words. */
  apply: (behaviour: Behaviour, ms: number) => Behaviour;
}

/** Steps of a launch before the app draws. */
const undrawn = (launch: readonly LaunchStep[]) => launch.filter(({ state }) => state === 'starting');

/** A session that no control plane has started. */
const INVENTED: HeldSession = {
  session_id: '00000000-0000-4000-8000-000000000001',
  app_id: '00000000-0000-4000-8000-000000000002',
  state: 'running',
  started_at: null,
  viewer: false,
};

/** Behaviours of a fake host by the word that selects them; several words are combined, and applied in this order. */
export const BEHAVIOURS: Readonly<Record<string, AgentBehaviour>> = {
  silent: {
    does: 'acknowledges no command',
    excludes: {
      words: ['refuses', 'slow', 'stuck', 'fails', 'no-swap', 'no-capture'],
      because: 'a silent host carries no command out',
    },
    apply: (behaviour) => ({ ...behaviour, answer: () => 'silence' }),
  },
  refuses: {
    does: 'refuses each command as busy',
    excludes: {
      words: ['stuck', 'fails', 'no-swap', 'no-capture'],
      because: 'a host that refuses launches nothing',
    },
    apply: (behaviour) => ({ ...behaviour, answer: () => ({ code: 'busy', error: 'refused by hand' }) }),
  },
  stuck: {
    does: 'starts apps that never draw',
    excludes: { words: ['fails', 'no-swap', 'no-capture'], because: 'a stuck launch neither fails nor runs' },
    apply: (behaviour) => ({ ...behaviour, launch: undrawn(behaviour.launch).slice(0, -1) }),
  },
  fails: {
    does: 'fails each launch after its app has started',
    excludes: { words: ['no-swap', 'no-capture'], because: 'no session runs that could be changed' },
    apply: (behaviour) => ({
      ...behaviour,
      launch: [
        ...undrawn(behaviour.launch).slice(0, -1),
        { state: 'failed', failure_code: 'app_exited_early', error: 'failed by hand' },
      ],
    }),
  },
  slow: {
    does: 'takes 3 s for each ack and each step of a launch',
    ms: 3_000,
    apply: (behaviour, ms) => ({
      ...behaviour,
      ackDelayMs: ms,
      launch: behaviour.launch.map((step) => ({ ...step, afterMs: ms })),
    }),
  },
  frozen: {
    does: 'keeps its socket open and says nothing',
    excludes: {
      words: [
        'silent',
        'refuses',
        'slow',
        'stuck',
        'fails',
        'duplicate',
        'reorder',
        'swallow',
        'no-swap',
        'no-capture',
      ],
      because: 'a frozen host sends nothing at all',
    },
    apply: (behaviour) => ({ ...behaviour, frozen: true }),
  },
  duplicate: {
    does: 'sends each report twice',
    apply: (behaviour) => ({ ...behaviour, duplicate: true }),
  },
  reorder: {
    does: 'sends each pair of reports in reverse',
    apply: (behaviour) => ({ ...behaviour, reorder: true }),
  },
  swallow: {
    does: 'sends no report',
    excludes: {
      words: ['stuck', 'fails', 'duplicate', 'reorder', 'no-swap', 'no-capture'],
      because: 'the reports that show it are not sent',
    },
    apply: (behaviour) => ({ ...behaviour, swallow: true }),
  },
  'no-swap': {
    does: 'rolls each change of app back',
    apply: (behaviour) => ({ ...behaviour, swap: { rolled_back: 'refused by hand' } }),
  },
  'no-capture': {
    does: 'fails each capture',
    apply: (behaviour) => ({ ...behaviour, capture: { error: 'failed by hand' } }),
  },
  drops: {
    does: 'breaks its link 10 s after each registration and comes back',
    ms: 10_000,
    excludes: { words: ['restarts'], because: 'a restart breaks the link as well' },
    apply: (behaviour, ms) => ({ ...behaviour, leaves: { afterMs: ms, how: 'drop' } }),
  },
  restarts: {
    does: 'starts again 10 s after each registration, as another boot without sessions',
    ms: 10_000,
    apply: (behaviour, ms) => ({ ...behaviour, leaves: { afterMs: ms, how: 'crash' } }),
  },
  forgets: {
    does: 'registers without its sessions, so that they end as lost',
    excludes: { words: ['invents'], because: 'a host that forgets names no session' },
    apply: (behaviour) => ({ ...behaviour, claim: () => [] }),
  },
  invents: {
    does: 'registers with a session that was never launched',
    apply: (behaviour) => ({ ...behaviour, claim: (truth) => [...truth, INVENTED] }),
  },
};

/** @throws Error for an unknown word, and for two words that exclude each other */
export function behaviourOf(words: readonly string[]): Behaviour {
  return chosen(BEHAVIOURS, words).reduce((behaviour, { apply, ms = 0 }) => apply(behaviour, ms), honest);
}
