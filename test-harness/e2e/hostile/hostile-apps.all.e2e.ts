import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  noRealPodman,
  type RealPodman,
  type RealRegistry,
  startDebianRegistry,
  startRealPodman,
} from '../../src/containers/index.ts';
import type { FakeViewer } from '../../src/fake-viewer/index.ts';
import { descendants } from '../../src/stack/host-traces.ts';
import { eventually, PATIENCE_MS } from '../../src/stack/program.ts';
import { PersonSessions } from '../../src/stack/sessions.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';

const PYTHON = '/usr/bin/python3';
/** Time for which each greedy app is watched. */
const LONG = process.env.FOOTLIGHT_LONG === '1';
const GREED_MS = LONG ? 30_000 : 2_000;
const HEALTH_LIMIT_MS = 1_000;
const FRAME_SHARE = 0.8;
/**
 * Allowed growth of the agent's memory. The agent stores at most one MiB of an app's log; the rest of the growth is
 * garbage that V8 has not collected yet.
 */
const AGENT_GROWTH_MIB = 100;

/** Each program starts when the session counts as running, and uses as much of one resource as possible. */
const GREEDY = {
  // Each process starts a separate kernel session. Otherwise the scheduler would give all of them together the CPU time
  // of one session (sched(7)).
  'forks without end':
    'import os\nwhile True:\n  try:\n    if os.fork() == 0: os.setsid()\n  except OSError: pass',
  'writes its log without end': 'import os\nwhile True: os.write(1, b"spew" * 16384)',
  'writes its log in single bytes': 'import os\nwhile True: os.write(1, b"s")',
  'fills its temporary directory':
    'import os\nf = open("/tmp/full", "wb", 0)\nwhile True:\n  try: f.write(b"x" * 1048576)\n  except OSError: f.seek(0)',
  'takes all memory': 'held = []\nwhile True: held.append(bytearray(16 << 20))',
};

/** The same programs for an image that contains perl but not Python. */
const GREEDY_IN_CONTAINERS: Record<keyof typeof GREEDY, string> = {
  'forks without end': 'use POSIX; while (1) { my $p = fork; POSIX::setsid() if defined $p && $p == 0 }',
  'writes its log without end': 'my $spew = q(spew) x 16384; while (1) { syswrite STDOUT, $spew }',
  'writes its log in single bytes': 'while (1) { syswrite STDOUT, q(s) }',
  'fills its temporary directory':
    'open F, q(>), q(/tmp/full); my $x = q(x) x 1048576; while (1) { syswrite(F, $x) or seek(F, 0, 0) }',
  'takes all memory': 'push @held, q(x) x (16 << 20) while 1',
};
/**
 * Containers are tested only in the long form; their limits are tested in every run (hostile-container.int.test.ts).
 */
const CONTAINERS = LONG && noRealPodman() === null;

const INPUT_NODES = '/dev/input';
/** The name has no number at its end, so that no program mistakes the file for a device of the kernel. */
const INPUT_NODE = path.join(INPUT_NODES, 'event-of-the-host');

/**
 * A device node with the permissions of the host's keyboards, which the group `input` may open; it has no driver.
 * @returns a function that removes it
 */
function plantInputDevice(): () => void {
  const isNew = !existsSync(INPUT_NODES);
  mkdirSync(INPUT_NODES, { recursive: true, mode: 0o755 });
  // A killed test run does not remove the device node.
  rmSync(INPUT_NODE, { force: true });
  execFileSync('mknod', ['--mode=0660', INPUT_NODE, 'c', '1', '3']);
  const [, gid] = /^input:[^:]*:(\d+):/m.exec(readFileSync('/etc/group', 'utf8')) ?? [];
  chownSync(INPUT_NODE, 0, Number(gid ?? 0));
  return () => rmSync(isNew ? INPUT_NODES : INPUT_NODE, { recursive: true });
}

describe.runIf(process.getuid?.() === 0)('a hostile app, with its own user', () => {
  let stack: Stack;
  let sessions: PersonSessions;
  let victim: { id: string; viewer: FakeViewer };
  /** Number of the victim's frames within GREED_MS while no other session runs. Only the long form measures it. */
  let quiet = 0;
  const fixture = (name: string) => path.join(stack.directory, 'apps', name);
  let podman: RealPodman | null = null;
  let registry: RealRegistry | null = null;
  let image = '';
  /** Files that containers read, at /begin inside the container. */
  let begin = '';

  beforeAll(async () => {
    if (CONTAINERS) {
      podman = await startRealPodman();
      ({ registry, image } = await startDebianRegistry(podman));
      begin = mkdtempSync('/srv/footlight-greedy-');
      chmodSync(begin, 0o755);
    }
    stack = await startStack({
      agentEnv: {
        ...(podman && {
          SERVICE_CONTAINER_ENGINE: podman.url,
          SERVICE_CONTAINER_ULIMITS: podman.ulimits,
          SERVICE_MOUNT_ROOTS: begin,
        }),
        SERVICE_ENCODE_SLOTS: '4',
        SERVICE_APP_PIDS: '200',
        SERVICE_APP_CPUS: '1',
        SERVICE_APP_MEMORY_MB: '512',
      },
    });
    copyFileSync(path.join(import.meta.dirname, 'neighbour.py'), fixture('neighbour.py'));
    // A claimed instance has no setup token, so the test writes the token back to its place for the attack.
    const token = stack.setupToken();
    sessions = new PersonSessions(stack, (await stack.claim()).token);
    writeFileSync(path.join(stack.directory, 'control', 'setup-token'), token, { mode: 0o600 });
    const { id } = await sessions.launch(await sessions.app('Victim', null));
    await sessions.reaches(id, 'app presented');
    victim = { id, viewer: await sessions.watch(id) };
    if (LONG) quiet = await framesIn(victim.viewer, GREED_MS);
  });

  afterAll(async () => {
    await sessions?.close();
    await stack?.stop();
    await registry?.stop();
    await podman?.stop();
    if (begin !== '') rmSync(begin, { recursive: true });
  });

  test('cannot reach its neighbour, the agent, the control plane or the host', async ({ onTestFinished }) => {
    onTestFinished(plantInputDevice());
    const theirs = environmentOf(
      descendants(stack.agent.pid).find(([, command]) => /^\S*node \S*diagnostics.mjs/.test(command))?.[0] ??
        0,
    );
    const own = path.join(stack.directory, 'agent');
    const control = path.join(stack.directory, 'control');
    const sessionsDirectory = path.join(own, 'sessions');
    const secrets = [
      theirs.get('XAUTHORITY') ?? '',
      ...readdirSync(sessionsDirectory).map((name) => path.join(sessionsDirectory, name, 'record.json')),
      path.join(own, 'node.json'),
      path.join(control, 'setup-token'),
      ...readdirSync(control).map((name) => path.join(control, name)),
      '/etc/shadow',
    ];
    for (const secret of secrets) expect(existsSync(secret), secret).toBe(true);
    const targets = {
      display: (theirs.get('DISPLAY') ?? '').slice(1),
      sound: (theirs.get('PULSE_SERVER') ?? '').replace('unix:', ''),
      bus: busAddress(theirs.get('DBUS_SESSION_BUS_ADDRESS') ?? ''),
      secrets,
      directories: [theirs.get('HOME') ?? '', theirs.get('XDG_RUNTIME_DIR') ?? '', own, control, '/root'],
      input_devices: [INPUT_NODE],
      disks: readdirSync('/sys/block')
        .map((name) => `/dev/${name}`)
        .filter((device) => existsSync(device)),
      gpu_groups: ['/dev/dri/renderD128'].flatMap((device) =>
        existsSync(device) ? [statSync(device).gid] : [],
      ),
    };
    const app = await sessions.app('Neighbour', [PYTHON, fixture('neighbour.py')], {
      TARGETS: JSON.stringify(targets),
    });
    const end = await sessions.ended((await sessions.launch(app)).id);
    expect(end).toMatchObject({ state: 'failed', failure_code: 'app_exited_early' });
    expect(end.app_log_tail).toMatch(/^attempts \d{2,}$/);
  });

  test.for(Object.entries(GREEDY))(
    'that %s does not keep the agent from answering, nor its neighbour from its frames',
    { timeout: 240_000 },
    async ([name, script], { onTestFinished }) => {
      const file = fixture('greedy.py');
      writeFileSync(file, script, { mode: 0o644 });
      const signal = fixture('begin');
      const app = await sessions.app(`Greedy: ${name}`, [
        '/bin/sh',
        '-c',
        `xterm & until [ -e ${signal} ]; do sleep 0.05; done; ${PYTHON} ${file}; exec sleep 600`,
      ]);
      onTestFinished(() => rmSync(signal, { force: true }));
      await isBeside(app, {
        begin: () => writeFileSync(signal, ''),
        isAtWork: () => descendants(stack.agent.pid).some(([, command]) => command === `${PYTHON} ${file}`),
      });
    },
  );

  test.runIf(CONTAINERS).for(Object.entries(GREEDY_IN_CONTAINERS))(
    'that %s in a container does not either',
    { timeout: 240_000 },
    async ([name, script], { onTestFinished }) => {
      writeFileSync(path.join(begin, 'greedy.pl'), script, { mode: 0o644 });
      const signal = path.join(begin, 'now');
      onTestFinished(() => rmSync(signal, { force: true }));
      const work = 'perl /begin/greedy.pl';
      const args = [
        '/bin/sh',
        '-c',
        `xterm & until [ -e /begin/now ]; do sleep 0.05; done; ${work}; exec sleep 600`,
      ];
      const app = await sessions.app(
        `Contained: ${name}`,
        null,
        {},
        {
          runtime_spec: { image, args, mounts: [`${begin}:/begin`] },
        },
      );
      await isBeside(app, {
        begin: () => writeFileSync(signal, ''),
        isAtWork: () => descendants(1).some(([, command]) => command === work),
      });
    },
  );

  /** Launches a greedy app, and watches the victim's session and the agent while the app runs. */
  async function isBeside(app: string, greed: { begin: () => void; isAtWork: () => boolean }): Promise<void> {
    const before = residentMib(stack.agent.pid);
    const { id } = await sessions.launch(app);
    await sessions.reaches(id, 'app presented');
    greed.begin();
    await eventually('it is at work', PATIENCE_MS, () => greed.isAtWork() || null);
    const [frames, slowestMs] = await Promise.all([
      framesIn(victim.viewer, GREED_MS),
      slowestHealth(stack.healthUrl, GREED_MS),
    ]);
    expect(await sessions.read(victim.id)).toMatchObject({ state: 'running' });
    expect(frames).toBeGreaterThan(LONG ? quiet * FRAME_SHARE : 0);
    if (LONG) expect(slowestMs, 'slowest /health, ms').toBeLessThan(HEALTH_LIMIT_MS);
    expect(residentMib(stack.agent.pid) - before, 'growth of the agent, MiB').toBeLessThan(AGENT_GROWTH_MIB);
    await sessions.call('DELETE', `/v1/sessions/${id}`);
    expect(await sessions.ended(id)).toMatchObject({ state: 'stopped', end_reason: 'user_requested' });
  }
});

function environmentOf(pid: number): Map<string, string> {
  const entries = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  return new Map(entries.map((entry) => [entry.split('=')[0] ?? '', entry.slice(entry.indexOf('=') + 1)]));
}

function residentMib(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

/** A bus address in the form of connect(2); an abstract one begins with NUL. */
function busAddress(text: string): string {
  const [, kind = '', value = ''] = /unix:(abstract|path)=([^,]+)/.exec(text) ?? [];
  return kind === 'abstract' ? `\0${value}` : value;
}

async function framesIn(viewer: FakeViewer, periodMs: number): Promise<number> {
  const before = viewer.video.counters.frames;
  await new Promise((resolve) => setTimeout(resolve, periodMs));
  return viewer.video.counters.frames - before;
}

async function slowestHealth(url: string, periodMs: number): Promise<number> {
  const until = performance.now() + periodMs;
  let slowest = 0;
  while (performance.now() < until) {
    const asked = performance.now();
    const answer = await fetch(url, { signal: AbortSignal.timeout(10_000) });
    await answer.arrayBuffer();
    slowest = Math.max(slowest, performance.now() - asked);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return slowest;
}
