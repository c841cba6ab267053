import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { descendants, type HostTraces, hostTraces } from '../src/stack/host-traces.ts';
import { eventually } from '../src/stack/program.ts';
import { PersonSessions } from '../src/stack/sessions.ts';
import { type Stack, startStack } from '../src/stack/stack.ts';

const CYCLES = process.env.FOOTLIGHT_LONG === '1' ? 150 : 20;
/** Caches fill and code is compiled in the first ones; what grows after them grows for ever. */
const WARM_UP = 5;
/** Resident memory that a program may gain over all later cycles, MiB; garbage is collected when it likes. */
const MEMORY_SLACK_MIB = 60;

/** Nobody else's on this machine, so that what they leave can be told from what others do meanwhile. */
const UIDS = [72_000, 72_063] as const;

/** What one process holds. */
interface Holdings {
  descriptors: number;
  sockets: number;
  threads: number;
  memoryMib: number;
}

interface Snapshot {
  traces: Omit<HostTraces, 'displays' | 'sharedMemory'>;
  /** X sockets and System V segments that belong to this agent's sessions. */
  ofSessions: string[];
  agent: Holdings;
  control: Holdings;
  temporary: string[];
}

describe('launching and stopping again and again', () => {
  let stack: Stack;
  let sessions: PersonSessions;

  beforeAll(async () => {
    stack = await startStack({
      agentEnv: { SERVICE_ENCODE_SLOTS: '2', SERVICE_PROCESS_UIDS: UIDS.join('-') },
    });
    sessions = new PersonSessions(stack, (await stack.claim()).token);
  });

  afterAll(async () => {
    await sessions?.close();
    await stack?.stop();
  });

  test(`${CYCLES} times with a viewer leaves processes, descriptors, sockets, shared memory, files and memory as they were`, {
    timeout: 1_800_000,
  }, async () => {
    const app = await sessions.app('Pattern', null);
    const cycle = async () => {
      const { id } = await sessions.launch(app);
      await sessions.reaches(id, 'app presented');
      const viewer = await sessions.watch(id);
      viewer.input.press('KeyA');
      await viewer.frames(5);
      await sessions.stop(id);
      await viewer.close();
    };
    for (let count = 0; count < WARM_UP; count++) await cycle();
    const before = await settled(stack, null);
    for (let count = WARM_UP; count < CYCLES; count++) await cycle();
    const after = await settled(stack, before);
    expect(after.traces).toEqual(before.traces);
    expect(after.ofSessions).toEqual([]);
    expect(after.temporary).toEqual(before.temporary);
    for (const program of ['agent', 'control'] as const) {
      const [had, has] = [before[program], after[program]];
      expect(has.descriptors, `descriptors of ${program}`).toBeLessThanOrEqual(had.descriptors + 2);
      expect(has.sockets, `sockets of ${program}`).toBeLessThanOrEqual(had.sockets + 2);
      expect(has.threads, `threads of ${program}`).toBeLessThanOrEqual(had.threads + 1);
      expect(has.memoryMib - had.memoryMib, `growth of ${program}, MiB`).toBeLessThan(MEMORY_SLACK_MIB);
    }
  });
});

/** Looks until the traces are those of `like`, or for a few seconds where they are not, or where there is nothing to compare with. */
async function settled(stack: Stack, like: Snapshot | null): Promise<Snapshot> {
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  if (like !== null) {
    await eventually(
      'as before',
      10_000,
      () => JSON.stringify(look(stack).traces) === JSON.stringify(like.traces) || null,
    ).catch(() => undefined);
  }
  return look(stack);
}

function look(stack: Stack): Snapshot {
  const { displays, sharedMemory, ...traces } = hostTraces(
    stack.agent.pid,
    path.join(stack.directory, 'agent'),
  );
  return {
    traces,
    ofSessions: process.getuid?.() === 0 ? [...displays.filter(isOfSessions), ...segments(sharedMemory)] : [],
    agent: holdings(programProcess(stack.agent.pid)),
    control: holdings(programProcess(stack.control.pid)),
    // Other programs of this machine come and go there; those of sessions have uids of their own or our name.
    temporary: ['/tmp', '/var/tmp'].flatMap((directory) =>
      readdirSync(directory).filter((name) => /^(dbus-|pulse-|\.esd|xauth|serverauth|dconf)/.test(name)),
    ),
  };
}

function isOfSessions(file: string): boolean {
  const uid = statSync(file, { throwIfNoEntry: false })?.uid ?? 0;
  return uid >= UIDS[0] && uid <= UIDS[1];
}

function segments(sharedMemory: readonly string[]): string[] {
  return sharedMemory.filter((line) => {
    const uid = Number(/^segment of (\d+)$/.exec(line)?.[1] ?? 0);
    return uid >= UIDS[0] && uid <= UIDS[1];
  });
}

/** The node process of a program that a script started. */
function programProcess(pid: number): number {
  const all: [number, string][] = [
    [pid, readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')],
    ...descendants(pid),
  ];
  const found = all.find(([, command]) => /^\S*node .*dist\/main\.js/.test(command));
  if (!found) throw new Error('no such program');
  return found[0];
}

function holdings(pid: number): Holdings {
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return '';
    }
  });
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  return {
    descriptors: links.length,
    sockets: links.filter((link) => link.startsWith('socket:')).length,
    threads: field('Threads'),
    memoryMib: field('VmRSS') / 1024,
  };
}
