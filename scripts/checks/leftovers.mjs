// What a test run leaves on a machine: what is there after it and was not there before.
// Other programs come and go meanwhile, also those of the same user. So a run has a temporary folder of its own, in
// which every file counts; elsewhere only what carries a mark of Footlight or belongs to a user of sessions.
// Listening sockets and audio servers are not looked for: each is there as long as its process is.
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Places that all programs of a machine share. */
const SHARED_PLACES = [
  ...new Set([os.tmpdir(), '/tmp']),
  '/tmp/.X11-unix',
  '/var/tmp',
  // Of the stacks of tests that root runs.
  '/srv',
  '/dev/shm',
  '/run/service',
  '/run/netns',
];

/** Caches of Node and of the tools that run the tests. */
const STAYS = /^(node-compile-cache|tsx-\d+|v8-compile-cache.*)$/;

/** Every process of a session has this variable; its environment has nothing else of the agent's starter. */
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

/** @param {string} file */
const ownerOf = (file) => lstatSync(file, { throwIfNoEntry: false })?.uid;

/** A lock or socket of a display whose server is gone: other programs of this user have displays too. @param {string} file */
function isDeadDisplay(file) {
  if (/^\/tmp\/\.X[^/]*-lock$/.test(file)) {
    // An X lock holds a pid of a few bytes; anything else at that name is no file of a server.
    if (!lstatSync(file, { throwIfNoEntry: false })?.isFile()) return true;
    const pid = Number(read(file).trim());
    return !(pid > 0) || read(`/proc/${pid}/cmdline`) === '';
  }
  return file.startsWith('/tmp/.X11-unix/') && !read('/proc/net/unix').includes(` ${file}\n`);
}

/** @param {string} dir */
const entries = (dir) =>
  names(dir)
    .filter((name) => !STAYS.test(name))
    .map((name) => path.join(dir, name));

/** @param {string} ownFolder */
function files(ownFolder) {
  const shared = SHARED_PLACES.flatMap(entries).filter((file) => {
    const uid = ownerOf(file);
    if (uid === undefined || file === ownFolder) return false;
    if (isSessionUser(uid)) return true;
    return isOurs(uid) && (path.basename(file).startsWith('footlight-') || isDeadDisplay(file));
  });
  return [...entries(ownFolder), ...shared];
}

/** System V segments, by id. Columns: key, shmid, perms, size, cpid, lpid, nattch, uid, … */
function sharedMemory() {
  return (
    read('/proc/sysvipc/shm')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter((columns) => columns.length > 7 && isOurs(Number(columns[7])))
      // A segment whose maker lives is in use; other programs of this user have some too.
      .filter((columns) => isSessionUser(Number(columns[7])) || read(`/proc/${columns[4]}/cmdline`) === '')
      .map((columns) => String(columns[1]))
  );
}

function mounts() {
  return read('/proc/self/mounts')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((target) => SHARED_PLACES.some((place) => target.startsWith(`${place}/`)));
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
 * @param {string} ownFolder the temporary folder of the run (TMPDIR), where every file counts
 * @returns {Record<string, string[]>} by kind
 */
export function lookAround(mark, ownFolder) {
  return {
    process: processes(mark),
    file: files(ownFolder),
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
