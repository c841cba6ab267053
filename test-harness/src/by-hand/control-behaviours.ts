import { AGENT_CLOSE } from '@footlight/protocol/agent';
import type { FakeControlOptions } from '../fake-control/index.ts';
import { chosen, type NamedBehaviour } from './choice.ts';

interface ControlBehaviour extends NamedBehaviour {
  /** Adds this fault to options, which may already have the faults of other words. */
  apply: (options: FakeControlOptions, ms: number) => FakeControlOptions;
}

const RETRY_AFTER_SECS = 5;

/** Behaviours of a fake control plane by the word that selects them; several words are combined. */
export const CONTROL_BEHAVIOURS: Readonly<Record<string, ControlBehaviour>> = {
  refuses: {
    does: `refuses each connection with 503, to be tried again after ${RETRY_AFTER_SECS} s`,
    excludes: {
      words: ['mute', 'unconfigured', 'unseen', 'repeats', 'closes', 'slow'],
      because: 'no agent gets a connection',
    },
    apply: (options) => ({
      ...options,
      refuse: () => ({ status: 503, message: 'refused by hand', retryAfterSecs: RETRY_AFTER_SECS }),
    }),
  },
  mute: {
    does: 'answers no registration',
    excludes: {
      words: ['unconfigured', 'unseen', 'repeats', 'closes', 'slow'],
      because: 'no agent is registered',
    },
    apply: (options) => ({ ...options, mute: true }),
  },
  unconfigured: {
    does: 'sends no configuration after a registration',
    apply: (options) => ({ ...options, withoutConfig: true }),
  },
  unseen: {
    does: 'confirms no report, so that agents repeat them after each reconnect',
    apply: (options) => ({ ...options, autoSeen: false }),
  },
  repeats: {
    does: 'sends each command twice',
    apply: (options) => ({ ...options, repeatsCommands: true }),
  },
  closes: {
    does: 'closes each link 10 s after its registration, as a restart does',
    ms: 10_000,
    apply: (options, ms) => ({ ...options, closes: { afterMs: ms, code: AGENT_CLOSE.restarting } }),
  },
  slow: {
    does: 'sends each message 3 s late',
    ms: 3_000,
    apply: (options, ms) => ({ ...options, delayMs: ms }),
  },
};

/** @throws Error for an unknown word, and for two words that exclude each other */
export function controlBehaviourOf(words: readonly string[]): FakeControlOptions {
  return chosen(CONTROL_BEHAVIOURS, words).reduce<FakeControlOptions>(
    (options, { apply, ms = 0 }) => apply(options, ms),
    {},
  );
}
