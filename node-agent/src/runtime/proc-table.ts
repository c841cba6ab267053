import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** One row of /proc. */
export interface ProcessRow {
  pid: number;
  ppid: number;
  pgrp: number;
  /** Real uid. */
  uid: number;
  /** Ticks since boot: with the pid it names one process for ever. */
  startTicks: number;
  zombie: boolean;
}

/** @returns null when there is no such process */
export function readProcess(pid: number): ProcessRow | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name is in parentheses and may hold anything, so fields count from the last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const uid = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return {
      pid,
      zombie: fields[0] === 'Z' || fields[0] === 'X',
      ppid: Number(fields[1]),
      pgrp: Number(fields[2]),
      startTicks: Number(fields[19]),
      uid: Number(uid),
    };
  } catch {
    return null;
  }
}

/** Every live process that can be seen; zombies are left out, since nothing can be done to them. */
export function listProcesses(): ProcessRow[] {
  const rows: ProcessRow[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const row = readProcess(Number(name));
    if (row && !row.zombie) rows.push(row);
  }
  return rows;
}

/** Identity of the process's pid namespace; null when it is gone or may not be read. */
export function pidNamespace(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return null;
  }
}

/** Variable in the environment of every process of a session: its id. Leftovers are found by it. */
export const SESSION_VARIABLE = 'FOOTLIGHT_SESSION';
/** What names the app (AppSurroundings.instance), for the app and what it starts and not for the helpers around it. */
export const APP_VARIABLE = 'FOOTLIGHT_APP';

/** A variable of the environment that a process was started with; null for none, or when it may not be read. */
export function startVariable(pid: number, name: string): string | null {
  try {
    const marker = `${name}=`;
    const found = readFileSync(`/proc/${pid}/environ`, 'latin1')
      .split('\0')
      .find((entry) => entry.startsWith(marker));
    return found?.slice(marker.length) ?? null;
  } catch {
    return null;
  }
}

/**
 * What runs of a session: everything of its own user, or, where sessions share the agent's user, everything that was
 * started with its variable.
 * @param uid null: the session shares the agent's user
 */
export function sessionProcesses(sessionId: string, uid: number | null): ProcessRow[] {
  return listProcesses().filter((row) =>
    uid === null ? startVariable(row.pid, SESSION_VARIABLE) === sessionId : row.uid === uid,
  );
}
