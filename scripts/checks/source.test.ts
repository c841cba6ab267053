import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Sources of the programs and packages, without tests and generated files. */
const packages = readdirSync(path.join(root, 'packages')).map((name) => `packages/${name}`);
const sources = ['protocol', 'control-plane', 'node-agent', 'test-harness', ...packages]
  .map((folder) => `${folder}/src`)
  .flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).map(
      (file) => `${folder}/${file}`,
    ),
  )
  .filter((file) => /(?<!\.test|\.gen)\.tsx?$/.test(file));

/** Programs of the commands, which run without a build. */
const scripts = readdirSync(path.join(root, 'scripts'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.mjs'))
  .map((file) => `scripts/${file}`);

/** Exempt, because a test that stops the product's clock must not stop its transactions. */
const WAITS_OF_DATABASE = 'waits of the database';

/**
 * Files that may read the system's time or random values, or start timers without a clock, each with the reason. Each
 * line must match at least one file.
 */
const EXEMPT_FROM_CLOCK: readonly (readonly [files: RegExp, reason: string])[] = [
  [
    /^control-plane\/src\/(app|main|upgrade-main|cli\/terminal)\.ts$/,
    'programs hand the system clock to the rest',
  ],
  [
    /^node-agent\/src\/(cli|doctor|diagnostics-app\/main|(discovery\/scan|media\/fallback\/fallback|preflight\/preflight)-main)\.ts$/,
    'programs hand the system clock to the rest',
  ],
  [/^node-agent\/src\/media\/session\/media-clock\.ts$/, 'the clock of media workers'],
  [/^control-plane\/src\/platform\/database\//, WAITS_OF_DATABASE],
  [/^control-plane\/src\/platform\/queues\/batch-queue\.ts$/, WAITS_OF_DATABASE],
  [/^control-plane\/src\/platform\/queues\/write-batch\.ts$/, WAITS_OF_DATABASE],
  [/^packages\/platform\/src\/(clock|random)\.ts$/, 'clock and chance of both programs'],
  [/^packages\/web\/src\/(clock|api\/retry-delay)\.ts$/, 'clock and chance of the page'],
  [/^packages\/stream-client\/src\/environment\.ts$/, 'clock and chance of the player'],
  [/^packages\/gst\/src\/app-sink\.ts$/, 'the limit of one wait for the native library'],
  [/^test-harness\/src\/browser\/(sign-in|sound)\.ts$/, 'code that runs in the page of a real browser'],
  [/^scripts\/bring-up\/system-clock\.mjs$/, 'the clock of the scripts'],
  [
    /^scripts\/(bring-up|certification|test-run)\/main\.mjs$/,
    'commands show how long they took, and wait for other programs',
  ],
  [
    /^scripts\/(bring-up\/reload|lib\/prepare|test-run\/run)\.mjs$/,
    'steps of a command show how long they took',
  ],
  [/^scripts\/(bring-up\/replicas|test-run\/leftovers)\.mjs$/, 'they poll other programs for a limited time'],
];
/** The module that exports the system's clock. */
const PLATFORM_INDEX = 'packages/platform/src/index.ts';
const isExempt = (file: string) => EXEMPT_FROM_CLOCK.some(([files]) => files.test(file));

/**
 * Uses of global timers and times. A method such as `clock.setTimeout` or `socket.setTimeout` is not the global
 * function, and a declaration is not a call.
 */
const BARE_TIME =
  /(?<![.\w])set(?:Timeout|Interval)\((?!\w+(?:\??: |, \w+\) \{))|\bperformance\.now\(|\bDate\.now\(|\bnew Date\(\)|\bMath\.random\b/;
const SYSTEM_CLOCK = /\bsystemClock\b/;

/**
 * Tests that use real time on purpose, grouped by the reason. All other tests wait for events and advance a manual
 * clock.
 */
const REAL_TIME: Record<string, readonly string[]> = {
  'they poll other processes and sockets, or limit a wait for them': [
    'control-plane/src/sessions/testing/world.ts',
    'control-plane/src/signaling/testing/page.ts',
    'control-plane/src/testing/debian-postgres.ts',
    'control-plane/src/testing/own-process.ts',
    'node-agent/src/media/testing/display.ts',
    'node-agent/src/media/testing/native-viewer.ts',
    'node-agent/src/media/testing/test-host.ts',
    'node-agent/src/testing/run-apps.ts',
    'test-harness/src/browser/sound.ts',
    'test-harness/src/stack/machine-shell.ts',
    'test-harness/src/stack/program.ts',
  ],
  'they are peers with a pace, or lines with a delay': [
    'control-plane/src/integration/reports-killed.all.test.ts',
    'control-plane/src/platform/http/connection/slow-clients.all.test.ts',
    'control-plane/src/sessions/reconcile/fleet-return.all.test.ts',
    'control-plane/src/testing/built-replicas.ts',
    'control-plane/src/testing/large/plain-telemetry-main.ts',
    'control-plane/src/testing/steady-requests.ts',
    'control-plane/src/testing/watching-viewers.ts',
    'node-agent/src/media/session/rate-control.all.test.ts',
    'node-agent/src/media/testing/udp-relay.ts',
    'node-agent/src/media/worker/hostile-worker.all.test.ts',
    'node-agent/src/sessions/home/planted-files.all.test.ts',
    'packages/web/test/fixture-server.ts',
    'test-harness/src/browser/faulty-front.ts',
    'test-harness/src/by-hand/pages.ts',
    'test-harness/src/by-hand/viewer.ts',
    'test-harness/src/containers/slow-registry.ts',
    'test-harness/src/fake-agent/inbox.ts',
    'test-harness/src/fake-viewer/fake-viewer.ts',
    'test-harness/src/stack/throttle.ts',
    'test-harness/src/tcp-relay.ts',
  ],
  'they test real time itself': [
    'control-plane/src/integration/own-process.all.test.ts',
    'control-plane/src/testing/fast-time.mjs',
    'node-agent/src/media/viewer/guests.all.test.ts',
    'node-agent/src/media/viewer/hostile-viewer.all.test.ts',
    'node-agent/src/media/viewer/path-faults.all.test.ts',
    'packages/platform/src/testing/fast-clock.ts',
    'scripts/checks/source.test.ts',
    'test-harness/e2e/absence.all.e2e.ts',
    'test-harness/e2e/control-killed.all.e2e.ts',
    'test-harness/e2e/host-faults.all.e2e.ts',
    'test-harness/e2e/hostile/hostile-apps.all.e2e.ts',
    'test-harness/e2e/session/cut-network.all.e2e.ts',
    'test-harness/e2e/services.all.e2e.ts',
    'test-harness/e2e/verdicts.all.e2e.ts',
  ],
};

/** Tests, test helpers, and the harness. */
const tests = [
  ...['protocol', 'control-plane', 'node-agent', 'scripts', ...packages],
  ...['test-harness/src', 'test-harness/e2e'],
]
  .flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).map(
      (file) => `${folder}/${file}`,
    ),
  )
  .filter((file) => !/\/(node_modules|dist)\//.test(file))
  .filter((file) => /\.(test|e2e)\.tsx?$|\/(testing|test)\/.*\.(ts|mjs)$|^test-harness\/.*\.ts$/.test(file));

/**
 * Tests of the gate that read the wall clock of the machine, each with the reason. Other tests use the time of their
 * clock or a fixed time.
 */
const WALL_TIME: Record<string, string> = {
  'control-plane/src/platform/acme.int.test.ts': 'a real certificate authority issues certificates for now',
  'control-plane/src/signaling/turn-server.int.test.ts':
    'a real TURN server compares expiries with the wall clock',
  'node-agent/src/media/webrtc/relay.int.test.ts': 'a real TURN server compares expiries with the wall clock',
  'node-agent/src/recorder/flight-recorder.test.ts': 'its files get their times from the machine',
  'packages/web/src/clock.test.ts': "it tests the browser's clock",
};

/** The different ways to write a pause. */
const BARE_TIMER =
  /(?<![.\w])set(?:Timeout|Interval)\((?!\w+:)|\bsystemClock\.set\w+\(|\bdelay\(systemClock|\bwaitForTimeout\(|\btimers\/promises/;

/** Lines of a test that wait for real time. */
function realPauses(text: string): string[] {
  return withoutComments(text)
    .split('\n')
    .flatMap((line, index) => (BARE_TIMER.test(line) ? [`${index + 1}: ${line.trim()}`] : []));
}

/** Calls that measure a duration or the use of resources. */
const MEASURED =
  /\bperformance\.now\(|\bhrtime\b|\bcpuUsage\b|\bmemoryUsage\b|\bresourceUsage\b|\bwithLoopWatched\b|\bsystemClock\.monotonicMs\(|Date\.now\(\) - \w+\)\.toBeLess/;

/** A time limit, either as an option of Vitest or Playwright, or as the second argument of `eventually`. */
const WAIT_LIMIT = /\btimeout(?:Ms)?: ?(\d[\d_]*)\b|\beventually\([^,]+, ?(\d[\d_]*),/g;
const SHORTEST_WAIT_MS = 60_000;

/** Lines of a test whose result depends on free CPU time. */
function needsFreeProcessor(text: string): string[] {
  // With fake timers, the page's clock does not advance by itself, so its limits do not depend on CPU time.
  const isFake = text.includes('vi.useFakeTimers(');
  const lines = withoutComments(text).split('\n');
  return lines.flatMap((line, index) => {
    const limits = [...line.matchAll(WAIT_LIMIT)].map(([, option, second]) =>
      Number((option ?? second ?? '').replaceAll('_', '')),
    );
    const found =
      (!isFake && MEASURED.test(line)) || BARE_TIMER.test(line) || limits.some((ms) => ms < SHORTEST_WAIT_MS);
    return found ? [`${index + 1}: ${line.trim()}`] : [];
  });
}

/** Lines of a test that read the wall clock of the machine. */
const wallTimes = (text: string) => linesWith(text, /\bDate\.now\(|\bnew Date\(\)/);
/** Lines that read the system's time or start a timer, without using a clock object. */
const bareTimes = (text: string) => linesWith(text, BARE_TIME);
/** The same lines, and lines that use the system's clock. */
const ownTimes = (text: string) => linesWith(text, new RegExp(`${BARE_TIME.source}|${SYSTEM_CLOCK.source}`));

function linesWith(text: string, pattern: RegExp): string[] {
  return withoutComments(text)
    .split('\n')
    .flatMap((line, index) => {
      const [found] = pattern.exec(line) ?? [];
      return found === undefined ? [] : [`${index + 1}: ${found.replace('(', '')}`];
    });
}

/** Comments become empty lines, so that line numbers stay the same. A `//` after a colon belongs to a URL. */
function withoutComments(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ''))
    .replace(/(?<!:)\/\/[^\n]*/g, '');
}

const findings = (files: readonly string[], find: (text: string) => readonly (string | number)[]) =>
  files.flatMap((file) => {
    const text = readFileSync(path.join(root, file), 'utf8');
    return find(text).map((finding) => `${file}:${finding}`);
  });

describe('code uses a clock for time', () => {
  test('a bare timer and a read of the system time or of randomness are found with their lines', () => {
    const planted = [
      'setTimeout(() => this.#look(), 5);',
      '// Date.now() jumps.',
      'const at = Date.now();',
      'this.#clock.setTimeout(look, 5);',
      "const url = 'https://host'; const from = performance.now();",
      'await delay(systemClock, 5);',
      'const timer = setInterval(tick, TICK_MS);',
      '  setTimeout(run: () => void, delayMs: number): Timer;',
      '  setInterval(run, everyMs) {',
      'const [openedMs] = useState(() => Date.now());',
      'const jitterMs = Math.random() * 500;',
    ].join('\n');
    const bare = ['1: setTimeout', '3: Date.now', '5: performance.now', '7: setInterval'];
    bare.push('10: Date.now', '11: Math.random');
    expect(bareTimes(planted)).toEqual(bare);
    expect(ownTimes(planted)).toEqual([...bare.slice(0, 3), '6: systemClock', ...bare.slice(3)]);
  });

  test('the programs and packages use a clock, and read no time without it', () => {
    const product = sources.filter(
      (file) => !/^test-harness\/|\/testing\//.test(file) && !isExempt(file) && file !== PLATFORM_INDEX,
    );
    expect(findings(product, ownTimes)).toEqual([]);
  });

  test('the fakes and helpers of tests read no time without a clock', () => {
    const helpers = sources.filter((file) => /^test-harness\//.test(file) && !isExempt(file));
    expect(findings(helpers, bareTimes)).toEqual([]);
  });

  test('the scripts read no time without a clock', () => {
    const others = scripts.filter((file) => !isExempt(file));
    expect(findings(others, bareTimes)).toEqual([]);
  });

  test.each(EXEMPT_FROM_CLOCK)('the exemption %s (%s) names a file that needs it', (files) => {
    const named = [...sources, ...scripts].filter((file) => files.test(file));
    expect(findings(named, ownTimes)).not.toEqual([]);
  });
});

describe('tests wait for events, not for time', () => {
  test('a pause is found in each spelling, and timers of another clock are not', () => {
    const planted = [
      'await new Promise((resolve) => setTimeout(resolve, 200));',
      'await page.waitForTimeout(500);',
      '// setTimeout(resolve, 200)',
      'clock.setTimeout(look, 5);',
      "import { setTimeout as delay } from 'node:timers/promises';",
      'await delay(systemClock, 20);',
      'const poll = setInterval(look, 50);',
      'return systemClock.setTimeout(run, 0);',
      'setTimeout(run: () => void, delayMs: number): Timer {',
    ].join('\n');
    expect(realPauses(planted).map((line) => line[0])).toEqual(['1', '2', '5', '6', '7', '8']);
  });

  test('no test has a pause, except the files with a reason', () => {
    const named = Object.values(REAL_TIME).flat();
    const others = tests.filter((file) => !named.includes(file));
    expect(findings(others, realPauses)).toEqual([]);
  });

  test('each file with a reason still needs it', () => {
    const idle = Object.values(REAL_TIME)
      .flat()
      .filter((file) => findings([file], realPauses).length === 0);
    expect(idle).toEqual([]);
  });
});

/** Test files of the gate. */
const inGate = tests.filter(
  (file) =>
    /\.(test|e2e)\.tsx?$/.test(file) &&
    !/\.(all|warning)\./.test(file) &&
    !file.startsWith('scripts/checks/'),
);

describe('the gate is the same at each time of day', () => {
  test('a read of the wall clock is found', () => {
    const planted = [
      'const at = Date.now();',
      'const at = new Date().toISOString();',
      'const at = new Date(NOW_MS);',
      'const at = clock.nowMs();',
      '// Date.now() jumps.',
    ].join('\n');
    expect(wallTimes(planted)).toEqual(['1: Date.now', '2: new Date)']);
  });

  test('no test of the gate reads the wall clock, except the files with a reason', () => {
    const others = inGate.filter((file) => WALL_TIME[file] === undefined);
    expect(findings(others, wallTimes)).toEqual([]);
  });

  test.each(Object.entries(WALL_TIME))('%s needs it: %s', (file) => {
    expect(findings([file], wallTimes)).not.toEqual([]);
  });
});

describe('the gate is the same on a busy machine', () => {
  test('a test that depends on free CPU time is found', () => {
    const planted = [
      'const from = performance.now();',
      'expect(process.memoryUsage().rss).toBeLessThan(1);',
      'await new Promise((resolve) => setTimeout(resolve, 200));',
      "await page.waitForURL('**/app', { timeout: 20_000 });",
      "await eventually('the host takes sessions', 10_000, look);",
      "await eventually('the host takes sessions', 60_000, look);",
      "await page.waitForURL('**/app', { timeout: WAIT_MS });",
      'const token = sign({ expires_at: Date.now() + 60_000 });',
      'expect(Date.now() - beganMs).toBeLessThan(1_000);',
    ].join('\n');
    expect(needsFreeProcessor(planted).map((line) => line[0])).toEqual(['1', '2', '3', '4', '5', '9']);
  });

  test('no test of the gate depends on it: such a test belongs to --all, or is a bench', () => {
    expect(findings(inGate, needsFreeProcessor)).toEqual([]);
  });
});
