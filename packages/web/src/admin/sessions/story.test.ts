import { END_REASONS, FAILURE_CODES } from '@footlight/protocol';
import type { Session } from '@footlight/protocol/rest';
import { describe, expect, test } from 'vitest';
import { ago, failedSession, session } from '../../../test/fixtures.ts';
import { storyOf, storySteps, whyThere } from './story.ts';

const NOW_MS = Date.parse(ago(0));
const at = (secondsAfter: number) => new Date(NOW_MS - 100_000 + secondsAfter * 1_000).toISOString();
const lived = (part: Partial<Session>): Session =>
  session(0, { created_at: at(0), started_at: at(1.2), state_detail: null, ...part });

describe('the sentence about a session', () => {
  test.each(FAILURE_CODES)('a failure by %s has a sentence and a remedy', (failure_code) => {
    const { tone, sentence, remedy } = storyOf(lived({ state: 'failed', failure_code }), NOW_MS);
    expect([tone, sentence.endsWith('.'), remedy?.endsWith('.')]).toEqual(['danger', true, true]);
    expect(sentence).not.toMatch(/_|\byou\b/i);
  });

  test.each(END_REASONS)('an end by %s has a sentence without a code in it', (end_reason) => {
    const { sentence } = storyOf(lived({ state: 'stopped', end_reason, ended_at: at(9) }), NOW_MS);
    expect(sentence).toMatch(/^[A-Z][^_]+\.$/);
  });

  test('a code of a newer service is shown unchanged', () => {
    const failure_code = 'moon_phase' as never;
    expect(storyOf(lived({ state: 'failed', failure_code }), NOW_MS).sentence).toBe('It ended: moon phase.');
  });

  test.each<[string, Partial<Session>, string]>([
    ['runs well', {}, 'It runs, and nothing is wrong with it.'],
    [
      'is not watched',
      { idle_ends_at: new Date(NOW_MS + 125_000).toISOString() },
      'It runs without a viewer. Its host ends it in 2:05.',
    ],
    ['suffers', { health_state: 'network_degrading' }, 'The network carries less than the picture needs.'],
    ['starts', { state: 'starting', started_at: null }, 'It starts.'],
  ])('a session that %s says so', (_name, part, sentence) => {
    expect(storyOf(lived(part), NOW_MS).sentence).toBe(sentence);
  });
});

describe('the steps of a session', () => {
  const told = (part: Partial<Session>, firstPictureMs?: number) =>
    storySteps(lived(part), firstPictureMs, NOW_MS).map(({ label, note, state }) => [label, note, state]);

  test('that ended show how long each took', () => {
    expect(told({ state: 'stopped', ended_at: at(62.2) }, 1_840)).toEqual([
      ['Launched', '', 'done'],
      ['App started', 'after 1.2 s', 'done'],
      ['First picture seen', 'after 1.8 s', 'done'],
      ['Ended', 'after 1:01', 'done'],
    ]);
  });

  test('that runs end with the elapsed time', () => {
    expect(told({}).at(-1)).toEqual(['Running', 'for 1:38', 'current']);
  });

  test('that starts end with its host’s step', () => {
    expect(told({ state: 'starting', started_at: null, state_detail: 'pulling image 40 %' })).toEqual([
      ['Launched', '', 'done'],
      ['Starting', 'Pulling image 40 %', 'current'],
    ]);
  });

  test('that failed name the step at which it failed', () => {
    const steps = storySteps(
      { ...failedSession, created_at: ago(33_000), started_at: null },
      undefined,
      NOW_MS,
    );
    expect(steps.at(-1)).toMatchObject({
      label: 'Failed',
      note: 'at “app booting”, after 3.0 s',
      state: 'failed',
    });
  });
});

describe('why a session runs there', () => {
  const gpu = (n: number) => ({
    host_id: `host-${n}`,
    node_name: `gpu-0${n}`,
    gpu_id: `gpu-${n}`,
    gpu_index: 0,
    free_slots: n,
    vram_mb_free: null,
    active_sessions: 0,
  });
  const refusal = { host_id: 'x', node_name: 'x', gpu_id: 'x', rule: 'slots', have: 0, need: 1 } as const;

  test.each([
    [[gpu(1)], [], 'host-1', 'The only GPU that could run it, 1 slot free at the launch.'],
    [
      [gpu(3), gpu(1)],
      [refusal],
      'host-3',
      'The best of 2 GPUs that could run it, 3 slots free at the launch; 1 other could not.',
    ],
    [
      [gpu(3), gpu(1)],
      [],
      'host-1',
      'Number 2 of 2 GPUs that could run it: the GPUs before it were booked in the meantime.',
    ],
    [[gpu(3)], [], null, '1 GPU could run it.'],
    [[], [refusal], null, 'No GPU could run it; 1 other could not.'],
  ])('candidates %#', (candidates, refusals, hostId, sentence) => {
    expect(whyThere({ candidates, refusals: [...refusals] }, hostId)).toBe(sentence);
  });
});
