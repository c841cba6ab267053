import { CHANNELS, type ChannelName } from '@footlight/protocol/input';
import type { FakeViewer, FakeViewerOptions } from '../fake-viewer/index.ts';
import { chosen, type NamedBehaviour } from './choice.ts';

/** A viewer of a running session, with a function that reconnects its socket. */
export interface WatchingViewer {
  readonly viewer: FakeViewer;
  /** Opens a new socket with a new token. */
  connect(): Promise<void>;
}

interface WatchingBehaviour extends NamedBehaviour {
  /** Adds this fault to options, which may already have the faults of other words. */
  apply?: (options: FakeViewerOptions) => FakeViewerOptions;
  /** Called once a second while the viewer runs. @param second count since the start */
  everySecond?: (watching: WatchingViewer, second: number) => Promise<void> | void;
}

const FLOOD_CANDIDATES = 1_000;
const FLOOD_MESSAGES = 500;
const GARBAGE_MESSAGES = 50;
/** Seconds between two cuts of a viewer that drops its socket. */
const DROP_SECS = 5;

/** Changes the first byte of the certificate's fingerprint. */
const forgeFingerprint = (sdp: string) =>
  sdp.replace(/(a=fingerprint:sha-256 )(\S\S)/, (_, name: string, byte: string) =>
    byte === 'AA' ? `${name}BB` : `${name}AA`,
  );

const channels = Object.keys(CHANNELS) as ChannelName[];

/** Behaviours of a fake viewer by the word that selects them; several words are combined. */
export const VIEWER_BEHAVIOURS: Readonly<Record<string, WatchingBehaviour>> = {
  silent: {
    does: 'opens its socket and says no hello',
    excludes: {
      words: ['refuses', 'forges', 'stays', 'floods', 'garbles', 'types', 'keyframes'],
      because: 'a silent viewer gets no offer',
    },
    apply: (options) => ({ ...options, silent: true }),
  },
  refuses: {
    does: 'answers no offer',
    excludes: {
      words: ['forges', 'stays', 'floods', 'garbles', 'types', 'keyframes'],
      because: 'a viewer without an answer has no connection',
    },
    apply: (options) => ({ ...options, answer: 'none' }),
  },
  forges: {
    does: 'sends another certificate’s fingerprint, so that no connection is established',
    excludes: {
      words: ['garbles', 'types', 'keyframes'],
      because: 'no connection is established with a forged certificate',
    },
    apply: (options) => ({ ...options, answer: forgeFingerprint }),
  },
  drops: {
    does: `breaks its socket every ${DROP_SECS} s and reconnects; the picture continues`,
    everySecond: async ({ viewer, connect }, second) => {
      if (second % DROP_SECS !== 0) return;
      viewer.dropSocket();
      await connect();
    },
  },
  stays: {
    does: 'requests no other connection after a failed one',
    apply: (options) => ({ ...options, renegotiates: false }),
  },
  floods: {
    does: `sends ${FLOOD_CANDIDATES} candidates for each offer, and ${FLOOD_MESSAGES} moves of the pointer a second`,
    apply: (options) => ({ ...options, candidateFlood: FLOOD_CANDIDATES }),
    everySecond: ({ viewer }) => {
      for (let count = 0; count < FLOOD_MESSAGES; count += 1) viewer.input.moveTo((count % 100) / 100, 0.5);
    },
  },
  garbles: {
    does: `sends ${GARBAGE_MESSAGES} messages of random bytes a second on each data channel`,
    everySecond: ({ viewer }) => {
      for (const channel of channels) viewer.input.garbage(channel, GARBAGE_MESSAGES);
    },
  },
  types: {
    does: 'presses a key and clicks once a second',
    everySecond: ({ viewer }) => {
      viewer.input.press('KeyA');
      viewer.input.click(0.5, 0.5);
    },
  },
  keyframes: {
    does: 'requests a keyframe every second',
    everySecond: ({ viewer }) => viewer.requestKeyframe(),
  },
};

export interface ViewerBehaviour {
  readonly options: FakeViewerOptions;
  /** Words whose action runs every second. */
  readonly acts: readonly string[];
  everySecond(watching: WatchingViewer, second: number): Promise<void>;
}

/** @throws Error for an unknown word, and for two words that exclude each other */
export function viewerBehaviourOf(words: readonly string[]): ViewerBehaviour {
  const behaviours = chosen(VIEWER_BEHAVIOURS, words);
  const acting = Object.keys(VIEWER_BEHAVIOURS).filter(
    (word) => words.includes(word) && VIEWER_BEHAVIOURS[word]?.everySecond !== undefined,
  );
  return {
    acts: acting,
    options: behaviours.reduce<FakeViewerOptions>((options, { apply }) => apply?.(options) ?? options, {}),
    async everySecond(watching, second) {
      for (const { everySecond } of behaviours) await everySecond?.(watching, second);
    },
  };
}
