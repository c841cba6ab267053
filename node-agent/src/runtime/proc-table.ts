import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs';

/** One process in /proc. */
export interface ProcessRow {
  pid: number;
  ppid: number;
  pgrp: number;
  /** Real uid. */
  uid: number;
  /** Start time in ticks since boot. Pid and start time together identify a process. */
  startTicks: number;
  zombie: boolean;
}

/** @returns null: the process does not exist */
export function readProcess(pid: number): ProcessRow | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name is in parentheses and may contain any character, so fields are counted from the last parenthesis.
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

/** All visible processes except zombies. */
export function listProcesses(): ProcessRow[] {
  const rows: ProcessRow[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const row = readProcess(Number(name));
    if (row && !row.zombie) rows.push(row);
  }
  return rows;
}

/** Children of a process's first thread; empty if the process has ended. Source: proc_pid_task(5). */
export function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return text.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** A process and all its descendants. */
export function familyOf(pid: number): number[] {
  const rows = listProcesses();
  const family = [pid];
  // The list grows during this loop.
  for (const parent of family)
    family.push(...rows.filter(({ ppid }) => ppid === parent).map((row) => row.pid));
  return family;
}

/** Id of the process's pid namespace; null: the process has ended, or the id is unreadable. */
export function pidNamespace(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return null;
  }
}

/** Environment variable with the session id in every process of a session; cleanup searches for it. */
export const SESSION_VARIABLE = 'FOOTLIGHT_SESSION';
/**
 * Environment variable with the app's name (AppContext.instance). The app and its children have it, but helpers do not.
 */
export const APP_VARIABLE = 'FOOTLIGHT_APP';

/**
 * Largest number of bytes read from a process's environment. A process can point its environment to a mapping of any
 * size (prctl(2), PR_SET_MM_MAP), and reading all of it could take forever.
 */
const ENVIRONMENT_BYTES = 256 * 1024;
const environment = Buffer.alloc(ENVIRONMENT_BYTES);

/** A variable of a process's initial environment; null: it is missing or unreadable. */
export function startVariable(pid: number, name: string): string | null {
  try {
    const marker = `${name}=`;
    const found = readEnvironment(pid)
      .split('\0')
      .find((entry) => entry.startsWith(marker));
    return found?.slice(marker.length) ?? null;
  } catch {
    return null;
  }
}

function readEnvironment(pid: number): string {
  const file = openSync(`/proc/${pid}/environ`, 'r');
  try {
    let length = 0;
    for (let read = 1; read > 0 && length < ENVIRONMENT_BYTES; length += read)
      read = readSync(file, environment, length, ENVIRONMENT_BYTES - length, null);
    return environment.toString('latin1', 0, length);
  } finally {
    closeSync(file);
  }
}

/**
 * Processes of a session: all processes of its user. If sessions run as the agent's user, all processes with the
 * session's variable.
 * @param uid null: the session runs as the agent's user
 */
export function sessionProcesses(sessionId: string, uid: number | null): ProcessRow[] {
  return listProcesses().filter((row) =>
    uid === null ? startVariable(row.pid, SESSION_VARIABLE) === sessionId : row.uid === uid,
  );
}
