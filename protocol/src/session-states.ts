/**
 * The states of a session and their meaning, for all programs. Without zod, so that the web app's first page does not
 * load a parser.
 */

/** States of a session, in their usual order. */
export const sessionStates = [
  'pending',
  'assigned',
  'starting',
  'running',
  'stopping',
  'stopped',
  'failed',
] as const;
export type SessionStateName = (typeof sessionStates)[number];

/** States in which a session occupies encode slots. */
export const reservingStates = ['assigned', 'starting', 'running', 'stopping'] as const;
/** States that are not final. */
export const nonterminalStates = ['pending', ...reservingStates] as const;
/** States in which a session counts for its user's quota and locks a home. */
export const quotaStates = ['pending', 'assigned', 'starting', 'running'] as const;
export type TerminalState = Exclude<SessionStateName, (typeof nonterminalStates)[number]>;

/** Whether a session has ended, so that no other state follows. */
export const isTerminal = (state: SessionStateName): state is TerminalState =>
  state === 'stopped' || state === 'failed';

/** Whether a session in this state occupies encode slots of its GPU. */
export const reservesSlots = (state: SessionStateName): boolean => state !== 'pending' && !isTerminal(state);

/** Launch steps in the order of their reports; a step without work is skipped. */
export const LAUNCH_STEPS = {
  waiting_home: 'waiting for the previous session to release its home',
  preparing_home: 'preparing home',
  /** The progress follows this text: `pulling image 40 %`. */
  pulling_image: 'pulling image',
  starting_display: 'starting display',
  starting_app: 'starting app',
  starting_encoder: 'starting encoder',
  app_booting: 'app booting',
  app_presented: 'app presented',
} as const;
