// scripts/dev: after a change of the sources, builds and restarts only the affected program, while the other program
// keeps running.
import { execFile } from 'node:child_process';
import { watch } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { sourcesOf } from '../lib/build.mjs';
import { root } from '../lib/prepare.mjs';

/**
 * @typedef {object} Part
 * @property {string} name
 * @property {string[]} sources  folders, watched with all their subfolders
 * @property {() => Promise<void>} build    throws an error with the compiler's output
 * @property {() => Promise<void>} restart
 */

/**
 * Debounce time. An editor writes a file in several steps, and a checkout writes many files; all of these count as one
 * change.
 */
const QUIET_MS = 150;

const run = promisify(execFile);

/**
 * The parts of the product that are built separately. A change of tests does not restart a part.
 * @param {{control: () => Promise<void>, agent: () => Promise<void>}} restart
 * @returns {Part[]}
 */
export function productParts(restart) {
  const script = (/** @type {string[]} */ ...words) =>
    run(process.execPath, words, { cwd: root }).then(() => undefined);
  const vite = path.join('packages', 'web', 'node_modules', 'vite', 'bin', 'vite.js');
  return [
    {
      name: 'control plane',
      sources: sourcesOf('control-plane'),
      build: () => script('scripts/lib/build.mjs', 'control-plane'),
      restart: restart.control,
    },
    {
      name: 'node agent',
      sources: sourcesOf('node-agent'),
      build: () => script('scripts/lib/build.mjs', 'node-agent'),
      restart: restart.agent,
    },
    {
      name: 'web app',
      sources: ['packages/web/src', 'packages/stream-client/src', 'protocol/src'],
      build: () => script(vite, 'build', 'packages/web', '--logLevel', 'warn'),
      // A restart is needed, because the control plane reads the built pages only at its start.
      restart: restart.control,
    },
  ];
}

/**
 * Builds and restarts each part after a change of its sources. If a build fails, its error is printed and the running
 * program continues. After a change during a build, another build follows.
 * @param {Part[]} parts
 * @param {(line: string) => void} say
 * @param {string} [base] folder that contains the sources
 * @returns {() => void} ends the watch
 */
export function reloadOnChange(parts, say, base = root) {
  const ends = parts.map((part) => {
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    let closed = false;
    let building = false;
    let changed = false;
    const reload = async () => {
      changed = true;
      if (building) return;
      building = true;
      while (changed && !closed) {
        changed = false;
        await buildAndRestart(part, say);
      }
      building = false;
    };
    const watchers = part.sources.map((folder) =>
      watch(path.join(base, folder), { recursive: true }, (_event, file) => {
        if (file === null || isIgnored(file)) return;
        clearTimeout(timer);
        timer = setTimeout(() => void reload(), QUIET_MS);
      }),
    );
    return () => {
      closed = true;
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    };
  });
  return () => {
    for (const end of ends) end();
  };
}

/** @param {Part} part @param {(line: string) => void} say */
async function buildAndRestart(part, say) {
  const from = performance.now();
  try {
    await part.build();
  } catch (error) {
    const words = /** @type {{stderr?: string}} */ (error).stderr || String(error);
    say(`The ${part.name} does not build; the running program continues.\n${words.trim()}`);
    return;
  }
  await part.restart();
  say(`The ${part.name} runs with your change after ${((performance.now() - from) / 1000).toFixed(1)} s.`);
}

/**
 * Whether a file is ignored: tests, files that a build of the web app writes, and temporary files of editors.
 * @param {string} file
 */
function isIgnored(file) {
  return (
    /\.test\.tsx?$|~$|\.sw[px]$|^\.|\/\./.test(file) ||
    /(^|\/)(node_modules|dist)(\/|$)|route-tree\.gen\.ts$/.test(file)
  );
}
