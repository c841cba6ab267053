import { spawnSync } from 'node:child_process';
import path from 'node:path';
import type { ControlCommand, HeldSession } from '@footlight/protocol/agent';
import { describe, expect, test } from 'vitest';
import type { Behaviour } from '../fake-agent/index.ts';
import { FakeControl, type FakeControlOptions } from '../fake-control/index.ts';
import { runAgents } from './agent.ts';
import { BEHAVIOURS, behaviourOf } from './agent-behaviours.ts';
import { runControl } from './control.ts';
import { CONTROL_BEHAVIOURS, controlBehaviourOf } from './control-behaviours.ts';
import { FakeHosts, runPages, until } from './pages.ts';
import { runViewer } from './viewer.ts';
import { VIEWER_BEHAVIOURS, type ViewerBehaviour, viewerBehaviourOf } from './viewer-behaviours.ts';

const FAKE = path.resolve(import.meta.dirname, '../../../scripts/fake');

const command = { type: 'session_stop', id: 'command' } as unknown as ControlCommand;
const HELD: HeldSession = { session_id: 's', app_id: 'a', state: 'running', started_at: 1, viewer: false };
/** The visible effect of each word of scripts/fake agent. */
const AGENT_SHOWS: Record<string, (behaviour: Behaviour) => boolean> = {
  silent: ({ answer }) => answer(command, true) === 'silence',
  refuses: ({ answer }) => typeof answer(command, true) === 'object',
  stuck: ({ launch }) => launch.length > 0 && launch.every(({ state }) => state === 'starting'),
  fails: ({ launch }) => launch.at(-1)?.failure_code === 'app_exited_early',
  slow: ({ launch, ackDelayMs }) => ackDelayMs > 0 && launch.every(({ afterMs = 0 }) => afterMs > 0),
  frozen: ({ frozen }) => frozen,
  duplicate: ({ duplicate }) => duplicate,
  reorder: ({ reorder }) => reorder,
  swallow: ({ swallow }) => swallow,
  'no-swap': ({ swap }) => swap !== 'complete',
  'no-capture': ({ capture }) => capture !== 'result',
  drops: ({ leaves }) => leaves?.how === 'drop',
  restarts: ({ leaves }) => leaves?.how === 'crash',
  forgets: ({ claim }) => claim([HELD]).length === 0,
  invents: ({ claim }) => claim([HELD]).length === 2,
};

const SDP = 'a=fingerprint:sha-256 12:34';
const VIEWER_SHOWS: Record<string, (behaviour: ViewerBehaviour) => boolean> = {
  silent: ({ options }) => options.silent === true,
  refuses: ({ options }) => options.answer === 'none',
  forges: ({ options: { answer } }) => typeof answer === 'function' && answer(SDP) !== SDP,
  drops: ({ acts }) => acts.includes('drops'),
  stays: ({ options }) => options.renegotiates === false,
  floods: ({ options, acts }) => (options.candidateFlood ?? 0) > 0 && acts.includes('floods'),
  garbles: ({ acts }) => acts.includes('garbles'),
  types: ({ acts }) => acts.includes('types'),
  keyframes: ({ acts }) => acts.includes('keyframes'),
};

const CONTROL_SHOWS: Record<string, (options: FakeControlOptions) => boolean> = {
  refuses: ({ refuse }) => refuse?.({}, 1)?.status === 503,
  mute: ({ mute }) => mute === true,
  unconfigured: ({ withoutConfig }) => withoutConfig === true,
  unseen: ({ autoSeen }) => autoSeen === false,
  repeats: ({ repeatsCommands }) => repeatsCommands === true,
  closes: ({ closes }) => closes !== undefined,
  slow: ({ delayMs = 0 }) => delayMs > 0,
};

const pairsOf = (words: readonly string[]) =>
  words.flatMap((one, at) => words.slice(at + 1).map((other) => [one, other] as const));

/** Tests all words of one fake, and all pairs of them. @param shows whether a behaviour has the effect of a word */
function testWords<Shown>(
  fake: string,
  words: readonly string[],
  shows: Readonly<Record<string, (behaviour: Shown) => boolean>>,
  compose: (words: readonly string[]) => Shown,
): void {
  describe(`the words of scripts/fake ${fake}`, () => {
    test.each(words)('%s alone has its effect, and no other word has the same', (word) => {
      const shown = words.filter((other) => shows[other]?.(compose([word])));
      expect(shown).toEqual([word]);
    });

    test('without a word there is no effect', () => {
      expect(words.filter((word) => shows[word]?.(compose([])))).toEqual([]);
    });

    test.each(pairsOf(words))(
      '%s and %s add up in any order, or are refused with the reason',
      (one, other) => {
        const result = (...pair: string[]) => {
          try {
            const behaviour = compose(pair);
            return words.filter((word) => shows[word]?.(behaviour));
          } catch (error) {
            return String(error);
          }
        };
        const [there, back] = [result(one, other), result(other, one)];
        if (typeof there === 'string') {
          expect(there).toMatch(/'[\w-]+' and '[\w-]+' do not go together: .+\./);
          expect(back).toMatch(/do not go together/);
        } else {
          expect(there).toEqual(words.filter((word) => word === one || word === other));
          expect(back).toEqual(there);
        }
      },
    );
  });
}
testWords('agent', Object.keys(BEHAVIOURS), AGENT_SHOWS, behaviourOf);
testWords('viewer', Object.keys(VIEWER_BEHAVIOURS), VIEWER_SHOWS, viewerBehaviourOf);
testWords('control', Object.keys(CONTROL_BEHAVIOURS), CONTROL_SHOWS, controlBehaviourOf);

test('a slow host that fails also fails slowly', () => {
  expect(behaviourOf(['fails', 'slow']).launch.at(-1)).toMatchObject({ state: 'failed', afterMs: 3_000 });
});

test('a number after a word replaces its time', () => {
  expect(behaviourOf(['slow=500'])).toMatchObject({
    ackDelayMs: 500,
    launch: [{ afterMs: 500 }, {}, {}, {}, {}],
  });
  expect(behaviourOf(['drops=50'])).toMatchObject({ leaves: { afterMs: 50 } });
  expect(controlBehaviourOf(['closes=100'])).toMatchObject({ closes: { afterMs: 100 } });
});

test.each([
  ['slow=', "'slow' takes milliseconds, for example slow=3000."],
  ['slow=0', "'slow' takes milliseconds, for example slow=3000."],
  ['silent=5', "'silent' takes no number."],
])('%s is refused', (word, reason) => {
  expect(() => behaviourOf([word])).toThrow(reason);
});

test('a state of scripts/fake pages is never an empty launch', () => {
  expect(until('starting app')).toHaveLength(2);
  expect(() => until('renamed step')).toThrow("A real launch has no step 'renamed step'.");
});

test('a host of scripts/fake pages is ready when it takes sessions, not when its heartbeat is answered', async () => {
  const control = await FakeControl.listen();
  const capacities = [null, null, { gpus: [] }];
  const hosts = new FakeHosts(control.url.href, async () => ({ capacity: capacities.shift() }));
  try {
    await hosts.connect('stage');
    expect(capacities).toEqual([]);
  } finally {
    await hosts.close();
    await control.close();
  }
});

test.each([
  ['agent', BEHAVIOURS, runAgents],
  ['viewer', VIEWER_BEHAVIOURS, runViewer],
  ['control', CONTROL_BEHAVIOURS, runControl],
])('scripts/fake %s names its behaviours when it refuses an unknown word', async (_, behaviours, run) => {
  await expect(run(['sleepy'], AbortSignal.abort())).rejects.toThrow(
    `There is no behaviour 'sleepy'; there are ${Object.keys(behaviours).join(', ')}.`,
  );
});

test('scripts/fake pages lists its stages when it refuses an unknown word', async () => {
  await expect(runPages(['sleepy'], AbortSignal.abort())).rejects.toThrow(
    "There is no stage 'sleepy'; there are unclaimed, empty, full.",
  );
});

test('scripts/fake without a kind prints the usage of each kind', () => {
  const run = spawnSync(FAKE, [], { encoding: 'utf8' });
  expect(run.status).toBe(2);
  for (const word of [
    ...Object.keys(BEHAVIOURS),
    ...Object.keys(VIEWER_BEHAVIOURS),
    ...Object.keys(CONTROL_BEHAVIOURS),
    'unclaimed',
  ])
    expect(run.stdout).toContain(`  ${word}`);
});
