import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Collected } from '../src/stack/collected.ts';
import { type Counts, type Holdings, holdingsOf, isMemory, leaks } from '../src/stack/holdings.ts';
import { descendants, type SessionTraces, sessionTraces } from '../src/stack/host-traces.ts';
import { atRest, eventually, PATIENCE_MS } from '../src/stack/program.ts';
import { type OwnStack, PersonSessions } from '../src/stack/sessions.ts';
import type { Stack } from '../src/stack/stack.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
const CYCLES = LONG ? 150 : 20;
/** During the first cycles caches fill and code is compiled; growth after them is a leak. */
const WARM_UP = LONG ? 30 : 5;
/**
 * Allowed growth of a program's resident memory over all later cycles, MiB; the time of garbage collections is not
 * controlled.
 */
const MEMORY_SLACK_MIB = 60;

/** User ids that no other program on this machine uses, so that leftovers can be attributed to these sessions. */
const UIDS = [72_000, 72_063] as const;

interface Snapshot {
  readonly traces: SessionTraces;
  readonly agent: Holdings;
  readonly control: Holdings;
}

describe('launching and stopping repeatedly', () => {
  let stack: Stack;
  let sessions: PersonSessions;
  let end: OwnStack['end'] | undefined;
  const collected = new Collected();

  beforeAll(async () => {
    ({ stack, sessions, end } = await PersonSessions.onNewStack(UIDS, collected.env));
  });

  afterAll(async () => {
    await end?.();
    collected.close();
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
    const counted: Counts[] = [];
    for (let count = WARM_UP; count < CYCLES; count++) {
      await cycle();
      await collected.collect(programProcess(stack.agent.pid));
      counted.push(counts(look(stack)));
    }
    expect(leaks(counted)).toEqual({});

    const after = await settled(stack, before);
    expect(after.traces).toEqual({ ...before.traces, ofSessions: [] });
    const [had, has] = [counts(before), counts(after)];
    if (LONG) {
      const gained = Object.keys(has).filter(isMemory);
      const words = gained.map((name) => `${name} ${((has[name] ?? 0) - (had[name] ?? 0)).toFixed(1)}`);
      process.stdout.write(`Gained in ${counted.length} cycles: ${words.join(', ')}\n`);
    }
    for (const [name, count] of Object.entries(has)) {
      // The number of connections to the database and between the programs may change by a few.
      const slack = isMemory(name) ? MEMORY_SLACK_MIB : 2;
      expect(count - (had[name] ?? 0), name).toBeLessThanOrEqual(slack);
    }
  });
});

/** Reads the traces when they are stable, when they equal `like`, or after 10 s. */
async function settled(stack: Stack, like: Snapshot | null): Promise<Snapshot> {
  await atRest('the traces rest', 20_000, () => look(stack).traces);
  if (like !== null) {
    await eventually(
      'as before',
      PATIENCE_MS,
      () => JSON.stringify(look(stack).traces) === JSON.stringify(like.traces) || null,
    ).catch(() => undefined);
  }
  return look(stack);
}

function look(stack: Stack): Snapshot {
  return {
    traces: sessionTraces(stack.agent.pid, path.join(stack.directory, 'agent'), UIDS),
    agent: holdingsOf(programProcess(stack.agent.pid)),
    control: holdingsOf(programProcess(stack.control.pid)),
  };
}

function counts({ traces, agent, control }: Snapshot): Counts {
  const found = Object.entries(traces).map(([name, list]): [string, number] => [name, list.length]);
  const held = Object.entries({ agent, control }).flatMap(([program, holdings]) =>
    Object.entries(holdings).map(([name, count]): [string, number] => [`${name} of ${program}`, count]),
  );
  return Object.fromEntries([...found, ...held]);
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
