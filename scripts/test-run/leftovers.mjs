// Finds leftovers of a test run: files, processes and other objects that exist after the run but not before it. Other
// programs may start and end at the same time, for example another run, or an instance of Footlight that this user
// tries out. So a run has its own temporary folders, in which every file counts, and its processes have the id of the
// run in their environment. In other places, only files and processes of test users (the users of the tests' sessions)
// count. Listening sockets and audio servers are not checked, because they end with their processes.
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** Directories that all programs of a machine share. */
const SHARED_PLACES = [
  ...new Set([os.tmpdir(), '/tmp']),
  '/tmp/.X11-unix',
  '/var/tmp',
  // Contains directories of tests that run as root.
  '/srv',
  '/dev/shm',
  '/run/service',
  '/run/netns',
];

/** Caches of Node and of the test tools, which are not leftovers. */
const STAYS = /^(node-compile-cache|tsx-\d+|v8-compile-cache.*)$/;

/** Every process of a session has this variable, but other processes of the program that started the agent do not. */
const SESSION_VARIABLE = 'FOOTLIGHT_SESSION=';

/** Whether tests run sessions as this user. The users of real hosts are 70000 to 70255. @param {number} uid */
const isTestUser = (uid) => uid >= 71_000 && uid < 80_000;

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

/** @param {string} file */
const ownerOf = (file) => lstatSync(file, { throwIfNoEntry: false })?.uid;

/** Processes by pid and command, so that a reused pid with another command counts as new. @param {string} runId */
function processes(runId) {
  const mark = `FOOTLIGHT_TEST_RUN=${runId}`;
  return names('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      const entries = read(`/proc/${pid}/environ`).split('\0');
      if (entries.includes(mark)) return true;
      const isSession = entries.some((entry) => entry.startsWith(SESSION_VARIABLE));
      return isSession && isTestUser(ownerOf(`/proc/${pid}`) ?? 0);
    })
    .map((pid) => `${pid} ${read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()}`);
}

/** @param {string} dir */
const entries = (dir) =>
  names(dir)
    .filter((name) => !STAYS.test(name))
    .map((name) => path.join(dir, name));

/** @param {string} runId @param {readonly string[]} ownFolders */
function files(runId, ownFolders) {
  const shared = SHARED_PLACES.flatMap(entries).filter((file) => {
    const uid = ownerOf(file);
    if (uid === undefined || ownFolders.includes(file)) return false;
    return isTestUser(uid) || path.basename(file).includes(nameTag(runId));
  });
  return [...ownFolders.flatMap(entries), ...shared];
}

/** System V memory segments, by id. Columns: key, shmid, perms, size, cpid, lpid, nattch, uid, … */
function sharedMemory() {
  return read('/proc/sysvipc/shm')
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => isTestUser(Number(columns[7])))
    .map((columns) => String(columns[1]));
}

/** @param {string} runId @param {readonly string[]} ownFolders */
function mounts(runId, ownFolders) {
  return read('/proc/self/mounts')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter(
      (target) =>
        ownFolders.some((folder) => target.startsWith(`${folder}/`)) || target.includes(nameTag(runId)),
    );
}

/**
 * Control groups that the agent creates for sessions: on version 2 below its own group, on version 1 next to this
 * process's group. A group with processes is ignored, because it belongs to a running session, perhaps of another
 * program. A session that was left over is found by its processes.
 */
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
  return [...unified, ...legacy].filter(
    (group) => names(group).includes('cgroup.procs') && read(`${group}/cgroup.procs`) === '',
  );
}

/** Part of the names of files that a run creates in shared places. @param {string} runId */
export const nameTag = (runId) => runId.slice(0, 8);

/**
 * @param {string} runId value of FOOTLIGHT_TEST_RUN, which every process of the run has in its environment
 * @param {readonly string[]} ownFolders the temporary folders of the run (TMPDIR), in which every file counts
 * @returns {Record<string, string[]>} the objects, by kind
 */
export function lookAround(runId, ownFolders) {
  return {
    process: processes(runId),
    file: files(runId, ownFolders),
    'shared memory': sharedMemory(),
    mount: mounts(runId, ownFolders),
    'control group': controlGroups(),
  };
}

/**
 * The objects in `after` that are not in `before`. Pure.
 * @param {Record<string, string[]>} before
 * @param {Record<string, string[]>} after
 * @returns {string[]} one line for each object
 */
export function whatIsLeft(before, after) {
  return Object.entries(after).flatMap(([kind, things]) => {
    const known = new Set(before[kind]);
    return things.filter((thing) => !known.has(thing)).map((thing) => `${kind}: ${thing}`);
  });
}

/** Time limit and interval of the polls. On a busy machine, a killed process needs seconds to disappear. */
const PATIENCE_MS = 30_000;
const POLL_MS = 500;

/**
 * Polls until there are no leftovers, for at most 30 s.
 * @param {Record<string, string[]>} before
 * @param {() => Record<string, string[]>} look
 * @returns {Promise<string[]>} one line for each leftover
 */
export async function leftBehind(before, look) {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const left = whatIsLeft(before, look());
    if (left.length === 0 || performance.now() > deadline) return left;
    await delay(POLL_MS);
  }
}
