import { describe, expect, test } from 'vitest';
import type { Point, SeriesName, VerdictFacts } from './evidence.ts';
import {
  BEAT,
  CLIENT,
  congested,
  constant,
  ENCODE,
  ENCODER,
  FPS,
  FROM_MS,
  factsWith,
  HIDDEN,
  hidden,
  IS_HIDDEN,
  LONG,
  LOST,
  NETWORK,
  RTT,
  SIGMA,
  saturated,
  traceEvent,
  uneven,
  type WindowValues,
} from './testing/window-facts.ts';
import { decideVerdict } from './verdict.ts';

const verdictOf = (values: WindowValues, over: Partial<VerdictFacts> = {}) =>
  decideVerdict(factsWith(values, over)).verdict;

describe('each rule at its limits, at 60 fps', () => {
  test.each<[verdict: string, what: string, values: WindowValues]>([
    ['nominal', 'a quiet session', {}],

    ['nominal', '5 lost packets', { ...congested, [LOST]: [0, 5] }],
    [NETWORK, '6 lost packets', { ...congested, [LOST]: [0, 6] }],
    [NETWORK, '6 lost packets over a reconnect', { ...congested, [LOST]: [90, 93, 0, 3] }],
    ['nominal', 'one count of lost packets', { ...congested, [LOST]: [600] }],
    ['nominal', 'no count of lost packets', { ...congested, [LOST]: [] }],
    ['nominal', 'a round trip of 49.99 ms', { ...congested, [RTT]: constant(49.99) }],
    ['nominal', 'a round trip of 50 ms', { ...congested, [RTT]: constant(50) }],
    [NETWORK, 'a round trip of 50.01 ms', { ...congested, [RTT]: constant(50.01) }],
    ['nominal', 'no round trip', { ...congested, [RTT]: [] }],

    ['nominal', 'an encoder of 15.99 ms', { ...saturated, [ENCODE]: constant(15.99) }],
    [ENCODER, 'an encoder of 16 ms', { ...saturated, [ENCODE]: constant(16) }],
    [ENCODER, 'an encoder of 16.01 ms', { ...saturated, [ENCODE]: constant(16.01) }],
    ['nominal', 'no encode time', { ...saturated, [ENCODE]: [] }],
    [ENCODER, 'a host of 49.99 fps', { ...saturated, [FPS]: constant(49.99) }],
    ['nominal', 'a host of 50 fps', { ...saturated, [FPS]: constant(50) }],
    ['nominal', 'a host of 50.01 fps', { ...saturated, [FPS]: constant(50.01) }],
    ['nominal', 'no rate of the host: neither steady nor not', { ...saturated, [FPS]: [] }],

    ['nominal', 'a deviation of 17.99 ms', { [SIGMA]: constant(17.99) }],
    [CLIENT, 'a deviation of 18 ms', { [SIGMA]: constant(18) }],
    [CLIENT, 'a deviation of 18.01 ms', { [SIGMA]: constant(18.01) }],
    ['nominal', 'one hitch', { [SIGMA]: [2, 90, 2] }],
    [CLIENT, 'two hitches', { [SIGMA]: [90, 2, 90] }],
    [CLIENT, 'three hitches', { [SIGMA]: [90, 90, 90] }],
    ['nominal', 'hitches and a host of 49.99 fps', { ...uneven, [FPS]: constant(49.99) }],
    [CLIENT, 'hitches and a host of 50 fps', { ...uneven, [FPS]: constant(50) }],
    ['nominal', 'hitches and no rate of the host', { ...uneven, [FPS]: [] }],
    ['nominal', 'hitches of a page that does not say whether it is hidden', { ...uneven, [IS_HIDDEN]: [] }],

    [HIDDEN, 'one hidden second', hidden],
    [HIDDEN, 'hitches of a hidden page', { ...uneven, ...hidden }],
    ['nominal', 'nothing said about hiding', { [IS_HIDDEN]: [] }],
  ])('%s: %s', (verdict, _what, values) => {
    expect(verdictOf(values)).toBe(verdict);
  });

  test.each([
    [NETWORK, { ...congested, ...saturated, ...uneven, ...hidden }],
    [ENCODER, { ...saturated, ...uneven, ...hidden }],
    [HIDDEN, { ...uneven, ...hidden }],
    [CLIENT, uneven],
  ])('the first match is the verdict: %s', (verdict, values) => {
    expect(verdictOf(values)).toBe(verdict);
  });
});

describe('the path, as a part of the cause', () => {
  const reason = (values: WindowValues, path: VerdictFacts['path']) =>
    decideVerdict(factsWith(values, { path })).reason;
  test.each([
    ['tcp', 'over TCP'],
    ['turn_udp', 'through a TURN server, which'],
    ['turn_tcp', 'through a TURN server by TCP'],
    ['turn_tls', 'through a TURN server by TLS'],
  ] as const)('%s is named with its cost if the network limits', (path, words) => {
    expect(reason(congested, path)).toContain(`ms; the packets went ${words}`);
    expect(reason({ [RTT]: constant(80) }, path)).toContain(words);
    expect(reason({}, path)).toBe(reason({}, null));
  });
  test('the direct path by UDP costs nothing, but is in the answer', () => {
    expect(reason(congested, 'udp')).toBe(reason(congested, null));
    expect(decideVerdict(factsWith({}, { path: 'udp' })).path).toBe('udp');
    expect(decideVerdict(factsWith({}))).not.toHaveProperty('path');
  });
});

describe('limits follow the frame rate of the session', () => {
  test.each([
    [30, 36, 32, 25],
    [60, 18, 16, 50],
    [120, 9, 8, 100],
    [144, 7.5, 1_000 / 150, 120],
  ])('%i fps: hitches from %f ms, encoder from %f ms, steady from %f fps', (fps, sigma, encode, steady) => {
    const below = (value: number) => value * 0.999;
    const steadyHost = { [FPS]: constant(steady) };
    expect(verdictOf({ ...steadyHost, [SIGMA]: constant(sigma) }, { fps })).toBe(CLIENT);
    expect(verdictOf({ ...steadyHost, [SIGMA]: constant(below(sigma)) }, { fps })).toBe('nominal');
    expect(verdictOf({ [FPS]: constant(below(steady)), [SIGMA]: constant(sigma) }, { fps })).toBe('nominal');
    const slow = { [FPS]: constant(below(steady)) };
    expect(verdictOf({ ...slow, [ENCODE]: constant(encode) }, { fps })).toBe(ENCODER);
    expect(verdictOf({ ...slow, [ENCODE]: constant(below(encode)) }, { fps })).toBe('nominal');
    expect(verdictOf({ ...steadyHost, [ENCODE]: constant(encode) }, { fps })).toBe('nominal');
  });

  test('lost packets, round trip and the number of hitches do not', () => {
    expect(verdictOf(congested, { fps: 30 })).toBe(NETWORK);
    expect(verdictOf({ ...congested, [LOST]: [0, 5] }, { fps: 30 })).toBe('nominal');
    expect(verdictOf({ ...congested, [RTT]: constant(50) }, { fps: 30 })).toBe('nominal');
    expect(verdictOf({ [SIGMA]: [90, 2] }, { fps: 30 })).toBe('nominal');
  });
});

describe('a hitch at the time of a slow sample of the host is not the fault of the viewer', () => {
  /** One slow sample of twenty leaves the 10th percentile steady. */
  const slowAtMs = FROM_MS + 50_000;
  const dip = constant(60).map((v, n) => (n === 10 ? 49.99 : v));
  const hitchesAt = (distanceMs: number, over: Partial<VerdictFacts> = {}, rates = dip) => {
    const facts = factsWith({ [FPS]: rates }, over);
    const hitches: Point[] = [
      { ts_unix_ms: FROM_MS + 30_000, v: 18 },
      { ts_unix_ms: slowAtMs + distanceMs, v: 18 },
    ];
    return decideVerdict({ ...facts, series: { ...facts.series, [SIGMA]: hitches } }).verdict;
  };
  const clock = (uncertaintyMs: number) => ({
    clock: { offsetMs: 0, uncertaintyMs, measuredAtMs: FROM_MS },
  });

  test.each([
    ['nominal', 0, 4],
    ['nominal', 999, 4],
    ['nominal', 1_000, 4],
    ['nominal', -1_000, 4],
    [CLIENT, 1_001, 4],
    [CLIENT, -1_001, 4],
    ['nominal', 1_500, 1_500],
    [CLIENT, 1_501, 1_500],
  ])('%s: %i ms away with an uncertainty of %i ms', (verdict, distanceMs, uncertaintyMs) => {
    expect(hitchesAt(distanceMs, clock(uncertaintyMs))).toBe(verdict);
  });

  test('a sample of 50 fps is not slow', () => {
    const rates = dip.map((v) => Math.max(v, 50));
    expect(hitchesAt(0, {}, rates)).toBe(CLIENT);
  });

  test('a sample of the viewer that is no hitch does not count', () => {
    const facts = factsWith({ [FPS]: dip });
    const samples = [
      { ts_unix_ms: FROM_MS + 30_000, v: 18 },
      { ts_unix_ms: FROM_MS + 31_000, v: 18 },
      { ts_unix_ms: slowAtMs, v: 17.99 },
    ];
    expect(decideVerdict({ ...facts, series: { ...facts.series, [SIGMA]: samples } }).verdict).toBe(CLIENT);
  });

  test('clocks that were never compared cannot decide', () => {
    expect(hitchesAt(0, { clock: null })).toBe(CLIENT);
  });
});

describe('a page that says by an event that it was hidden', () => {
  const told = (payload: Record<string, unknown>, ts?: number) => ({
    events: [traceEvent('browser', 'client.visibility_changed', payload, ts)],
  });

  test('counts like a hidden sample', () => {
    const answer = decideVerdict(factsWith({ [IS_HIDDEN]: [] }, told({ hidden: true })));
    expect(answer.verdict).toBe(HIDDEN);
    expect(answer.evidence).toEqual(['client.visibility_changed']);
    expect(answer.falsifiers[0]).toMatchObject({ name: IS_HIDDEN, value: 1, n: 1, holds: true });
    expect(verdictOf(uneven, told({ hidden: true }))).toBe(HIDDEN);
  });

  test.each([{ hidden: false }, { hidden: 'yes' }, {}])('%j does not', (payload) => {
    expect(verdictOf({}, told(payload))).toBe('nominal');
  });

  test('becoming visible is no proof that it was never hidden', () => {
    expect(verdictOf({ ...uneven, [IS_HIDDEN]: [] }, told({ hidden: false }))).toBe('nominal');
  });

  test('an event of the host under this name does not count', () => {
    const events = [traceEvent('agent', 'client.visibility_changed', { hidden: true })];
    expect(verdictOf({}, { events })).toBe('nominal');
  });

  test.each([
    ['nominal', -1],
    [HIDDEN, 0],
    [HIDDEN, 300_000],
    ['nominal', 300_001],
  ])('%s: %i ms after the start of the window', (verdict, afterMs) => {
    expect(verdictOf({}, told({ hidden: true }, FROM_MS + afterMs))).toBe(verdict);
  });
});

describe('the window and the warm-up', () => {
  const seriesAt = (name: SeriesName, values: WindowValues, times: readonly number[], over = {}) => {
    const facts = factsWith(values, over);
    const points = times.map((afterMs) => ({ ts_unix_ms: FROM_MS + afterMs, v: 90 }));
    return decideVerdict({ ...facts, series: { ...facts.series, [name]: points } });
  };

  test.each([
    ['nominal', [-1, 1_000]],
    [CLIENT, [0, 1_000]],
    [CLIENT, [1_000, 300_000]],
    ['nominal', [1_000, 300_001]],
  ])('%s: hitches %j ms after the start of the window', (verdict, times) => {
    expect(seriesAt(SIGMA, {}, times).verdict).toBe(verdict);
  });

  test.each([
    ['nominal', [19_999, 30_000]],
    [CLIENT, [20_000, 30_000]],
  ])('%s: hitches %j ms after the start of the session', (verdict, times) => {
    // Samples before the session's start do not count either.
    const started = { startedAtMs: FROM_MS };
    expect(seriesAt(SIGMA, { [FPS]: constant(60) }, [...times], started).verdict).toBe(verdict);
    expect(seriesAt(SIGMA, {}, [-5_000, ...times], { startedAtMs: FROM_MS }).verdict).toBe(verdict);
  });

  test('the rate of the host has a warm-up too, and its encode time has none', () => {
    const started = { startedAtMs: FROM_MS };
    // One sample every 5 s: four samples in the first 20 s.
    const slow = [...constant(10, 4), ...constant(60, 16)];
    expect(verdictOf({ ...uneven, [SIGMA]: constant(18, 40), [FPS]: slow }, started)).toBe(CLIENT);
    const answer = decideVerdict(factsWith({ [ENCODE]: constant(16), [FPS]: slow }, started));
    expect(answer.window.n_host).toBe(16);
    expect(answer.falsifiers.find(({ name }) => name === ENCODE)).toMatchObject({ n: 20 });
    expect(answer.falsifiers.find(({ name }) => name === LOST)).toMatchObject({ n: 20 });
  });

  test.each([
    [null, 0],
    [-60_000, 0],
    [-20_000, 0],
    [-19_999, 1],
    [-5_000, 15_000],
    [0, 20_000],
    [10_000, 20_000],
    [290_000, 10_000],
    [300_000, 0],
    [400_000, 0],
  ])('a session that began %j ms after the start of the window: %i ms of warm-up', (after, excluded) => {
    const startedAtMs = after === null ? null : FROM_MS + after;
    expect(decideVerdict(factsWith({}, { startedAtMs })).window.warmup_excluded_ms).toBe(excluded);
  });

  test('a session that never ran has no warm-up', () => {
    expect(verdictOf(uneven, { startedAtMs: null })).toBe(CLIENT);
  });

  test('samples of viewers are counted once, whatever they hold, and the agent has none of them', () => {
    const values: WindowValues = {
      [FPS]: constant(60, 7),
      'transport.gcc_estimate_kbps': constant(9_000, 90),
      'client.fps': constant(60, 12),
      [LOST]: constant(0, 9),
      [RTT]: [],
      [SIGMA]: [],
      [IS_HIDDEN]: [],
      [LONG]: [],
      [BEAT]: [],
    };
    const { window } = decideVerdict(factsWith(values));
    expect(window).toEqual({
      from_ms: FROM_MS,
      to_ms: FROM_MS + 300_000,
      n_host: 7,
      n_client: 12,
      warmup_excluded_ms: 0,
    });
  });
});

describe('the tier of the evidence', () => {
  const viewer = (count: number): WindowValues => ({
    [RTT]: constant(20, count),
    [LOST]: constant(0, count),
    [SIGMA]: [],
    [IS_HIDDEN]: [],
    [LONG]: [],
    [BEAT]: [],
  });

  test.each([
    [3, 3, true, 'full'],
    [3, 3, false, 'host_only'],
    [3, 2, true, 'host_only'],
    [3, 0, false, 'host_only'],
    [2, 3, true, 'client_only'],
    [0, 3, false, 'client_only'],
    [2, 2, true, 'insufficient'],
    [0, 0, false, 'insufficient'],
  ])('%i samples of the host, %i of the viewer, clock measured %s: %s', (host, client, measured, tier) => {
    const facts = factsWith(
      { ...viewer(client), [FPS]: constant(60, host) },
      measured ? {} : { clock: null },
    );
    const answer = decideVerdict(facts);
    expect(answer.evidence_tier).toBe(tier);
    expect(answer.verdict).toBe(tier === 'insufficient' ? 'unknown' : 'nominal');
    expect(answer.falsifiers.length === 0).toBe(tier === 'insufficient');
  });

  test('too few samples are unknown, however bad they are', () => {
    const answer = decideVerdict(
      factsWith({ ...viewer(2), [LOST]: [0, 900], [RTT]: [900, 900], [FPS]: [1, 1], [ENCODE]: [90, 90] }),
    );
    expect(answer).toMatchObject({ verdict: 'unknown', evidence: [], falsifiers: [] });
    expect(answer.reason).toBe('There are too few samples to judge: 2 of the host and 2 of the viewer.');
  });

  test('the viewer alone can show congestion, and the host alone saturation', () => {
    expect(verdictOf({ ...congested, [FPS]: [], [ENCODE]: [] })).toBe(NETWORK);
    expect(verdictOf({ ...saturated, ...viewer(0) })).toBe(ENCODER);
  });
});

describe('the clock', () => {
  test.each([
    [0, 300_000],
    [299_999, 1],
    [300_000, 0],
    [400_000, 0],
  ])('measured %i ms after the start of the window: age %i ms', (afterMs, ageMs) => {
    const clock = { offsetMs: -35.25, uncertaintyMs: 4.5, measuredAtMs: FROM_MS + afterMs };
    expect(decideVerdict(factsWith({}, { clock })).clock).toEqual({
      quality: 'measured',
      offset_ms: -35.25,
      uncertainty_ms: 4.5,
      applied: true,
      age_ms: ageMs,
    });
  });

  test('unmeasured', () => {
    expect(decideVerdict(factsWith({}, { clock: null })).clock).toEqual({
      quality: 'unmeasured',
      applied: false,
    });
  });
});
