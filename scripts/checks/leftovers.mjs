// What of ours a machine shows before and after a test run, so that nothing is there that was not there before.
// Other programs come and go meanwhile: only what carries our marks, or belongs to this user or to a session's, counts.
// Listening sockets and audio servers are not looked for: each is there as long as its process is.
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Places in which programs leave files, displays their locks and sockets, and apps their shared memory. */
const PLACES = [
  ...new Set([os.tmpdir(), '/tmp']),
  '/tmp/.X11-unix',
  '/var/tmp',
  '/dev/shm',
  '/run/service',
  '/run/netns',
];

/** Caches of Node and of the tools that run the tests, and where displays meet: any X server of root's makes it, once. */
const STAYS = /^(node-compile-cache|tsx-\d+|v8-compile-cache.*|\.X11-unix)$/;

/** Every process of a session has this variable; its environment has nothing else of whoever started the agent. */
const SESSION_VARIABLE = 'FOOTLIGHT_SESSION=';

/** Users of sessions, in the product (70000 to 70255) and in tests. @param {number} uid */
const isSessionUser = (uid) => uid >= 70_000 && uid < 80_000;

/** @param {number} uid */
const isOurs = (uid) => uid === process.getuid?.() || isSessionUser(uid);

/** @param {string} dir */
function names(dir) {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

/** @param {string} file */
function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** By pid and command: a pid that comes back with another command counts as new. @param {string} mark */
function processes(mark) {
  return names('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) =>
      read(`/proc/${pid}/environ`)
        .split('\0')
        .some((entry) => entry === mark || entry.startsWith(SESSION_VARIABLE)),
    )
    .map((pid) => `${pid} ${read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()}`);
}

function files() {
  return PLACES.flatMap((dir) =>
    names(dir)
      .filter((name) => !STAYS.test(name))
      .map((name) => path.join(dir, name))
      .filter((file) => {
        const uid = lstatSync(file, { throwIfNoEntry: false })?.uid;
        return uid !== undefined && isOurs(uid);
      }),
  );
}

/** System V segments, by id. Columns: key, shmid, perms, size, cpid, lpid, nattch, uid, … */
function sharedMemory() {
  return read('/proc/sysvipc/shm')
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => columns.length > 7 && isOurs(Number(columns[7])))
    .map((columns) => String(columns[1]));
}

function mounts() {
  return read('/proc/self/mounts')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((target) => PLACES.some((place) => target.startsWith(`${place}/`)));
}

/** Groups that the agent makes for sessions: below one of its own in version 2, beside this process's in version 1. */
function controlGroups() {
  const root = '/sys/fs/cgroup';
  const unified = names(`${root}/footlight`).map((name) => `${root}/footlight/${name}`);
  const legacy = read('/proc/self/cgroup')
    .split('\n')
    .flatMap((line) => {
      const [, controllers = '', group = ''] = line.split(':');
      return controllers.split(',').map((controller) => path.join(root, controller, group));
    })
    .flatMap((parent) =>
      names(parent)
        .filter((name) => name.startsWith('footlight-'))
        .map((name) => path.join(parent, name)),
    );
  return [...unified.filter((group) => names(group).includes('cgroup.procs')), ...legacy];
}

/**
 * @param {string} mark an environment entry that every process of the run carries, `NAME=value`
 * @returns {Record<string, string[]>} by kind
 */
export function lookAround(mark) {
  return {
    process: processes(mark),
    file: files(),
    'shared memory': sharedMemory(),
    mount: mounts(),
    'control group': controlGroups(),
  };
}

/**
 * What is there now and was not before. Pure.
 * @param {Record<string, string[]>} before
 * @param {Record<string, string[]>} after
 * @returns {string[]} one line for each thing
 */
export function whatIsLeft(before, after) {
  return Object.entries(after).flatMap(([kind, things]) => {
    const known = new Set(before[kind]);
    return things.filter((thing) => !known.has(thing)).map((thing) => `${kind}: ${thing}`);
  });
}
