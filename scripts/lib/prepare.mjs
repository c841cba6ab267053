// Prepares a fresh clone, so that all programs can start: Debian packages, npm packages, the built web app. Plain
// JavaScript with Node's own modules, because it runs before anything is installed.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { packAgent } from '../agent-archive/pack.mjs';
import { build } from './build.mjs';
import { digestOf } from './digest.mjs';
import { run } from './run.mjs';

export const root = fileURLToPath(new URL('../..', import.meta.url));
/** Files that determine the installed npm packages, in addition to the Node version. */
const LOCKED = ['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'package.json', 'patches'];
const stamps = path.join(root, 'node_modules', '.footlight');

/**
 * Which of these Debian packages are not installed.
 * @param {import('./debian-packages.mjs').DebianPackage[]} wanted
 */
export function missingPackages(wanted) {
  const answer = spawnSync(
    'dpkg-query',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg-query's own field syntax
    ['-W', '-f=${Package} ${db:Status-Status}\n', ...wanted.map((p) => p.name)],
    {
      encoding: 'utf8',
    },
  );
  if (answer.error) {
    throw new Error(
      'Footlight installs what it needs with apt-get and found no dpkg here; it runs on Debian 12.',
    );
  }
  const installed = new Set(
    answer.stdout
      .split('\n')
      .filter((line) => line.endsWith(' installed'))
      .map((line) => line.split(' ')[0]),
  );
  return wanted.filter((p) => !installed.has(p.name));
}

/**
 * How this user installs Debian packages: directly, through sudo, or not at all.
 * @returns {string[] | null} command prefix for apt-get; null: this user cannot install packages
 */
export function rootPrefix() {
  if (process.getuid?.() === 0) return [];
  const sudo = spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' });
  if (!sudo.error && (sudo.status === 0 || process.stdin.isTTY)) return ['sudo'];
  return null;
}

/**
 * @param {import('./debian-packages.mjs').DebianPackage[]} packages
 * @param {'download' | 'install'} what
 */
function aptGet(packages, what) {
  const names = packages.map((p) => p.name);
  const prefix = rootPrefix();
  if (prefix === null) {
    throw new Error(
      `These Debian packages are missing and this user can neither act as root nor use sudo. Ask an administrator to run:\n\n  apt-get install --no-install-recommends ${names.join(' ')}\n`,
    );
  }
  const apt = (/** @type {string[]} */ ...words) =>
    run(
      [...prefix, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-qq', '-y', ...words],
      `apt-get ${words.join(' ')}`,
    );
  if (what === 'download') {
    apt('update');
    apt('install', '--no-install-recommends', '--download-only', ...names);
  } else {
    apt('install', '--no-install-recommends', ...names);
    const services = packages.flatMap(({ service }) => service ?? []);
    // With systemd, the installed service is disabled again, because tests start their own, and port 80 must stay free.
    if (services.length > 0 && existsSync('/run/systemd/system'))
      run([...prefix, 'systemctl', 'disable', '--now', ...services], 'systemctl disable');
  }
}

/** @param {string} name @param {string} digest */
function isStamped(name, digest) {
  const file = path.join(stamps, name);
  return existsSync(file) && readFileSync(file, 'utf8') === digest;
}

/** @param {string} name @param {string} digest */
function stamp(name, digest) {
  mkdirSync(stamps, { recursive: true });
  writeFileSync(path.join(stamps, name), digest);
}

const npmDigest = () => digestOf(root, LOCKED);

/** Whether the npm packages of the lock file are installed for this version of Node. */
export function npmIsInstalled() {
  return isStamped('npm', npmDigest());
}

const pnpm = path.join(root, 'scripts', 'pnpm');

/** Installs exactly the npm packages of the lock file, from the earlier download. */
function installNpm() {
  run([pnpm, 'install', '--frozen-lockfile', '--offline'], 'Installing the npm packages', { cwd: root });
  stamp('npm', npmDigest());
}

const webDigest = () => digestOf(root, [...LOCKED, 'packages/web', 'packages/stream-client', 'protocol']);

/** Whether the built web app matches the current sources. */
export function webIsBuilt() {
  return existsSync(path.join(root, 'packages/web/dist/index.html')) && isStamped('web', webDigest());
}

/** Builds the web app into packages/web/dist, unless it matches the current sources. */
export function buildWeb() {
  if (webIsBuilt()) return;
  const web = path.join(root, 'packages/web');
  const vite = path.join(web, 'node_modules/.bin/vite');
  // NODE_ENV is set, because with a test runner's value the result would be a development build.
  run(['env', 'NODE_ENV=production', vite, 'build', web, '--logLevel', 'warn'], 'Building the web app', {
    cwd: root,
  });
  stamp('web', webDigest());
}

/**
 * Runs the steps that are still needed, and prints each before it starts.
 * @param {{packages: import('./debian-packages.mjs').DebianPackage[], say: (line: string) => void}} options
 * @returns {Promise<{downloadMs: number, installMs: number}>} time in milliseconds; 0: nothing was missing
 */
export async function prepare({ packages, say }) {
  let downloadMs = 0;
  let installMs = 0;
  /** @param {() => void} work */
  const timed = (work) => {
    const from = performance.now();
    work();
    const ms = performance.now() - from;
    say(`  done in ${(ms / 1000).toFixed(0)} s`);
    return ms;
  };
  const missing = missingPackages(packages);
  const npm = !npmIsInstalled();
  if (missing.length > 0) {
    say(`Downloading ${missing.length} Debian packages: ${missing.map((p) => p.name).join(', ')}`);
    downloadMs += timed(() => aptGet(missing, 'download'));
  }
  if (npm) {
    say('Downloading the npm packages that the lock file names, about 650 MB unpacked');
    downloadMs += timed(() =>
      run([pnpm, 'fetch', '--ignore-scripts'], 'Downloading the npm packages', { cwd: root }),
    );
  }
  if (missing.length > 0) {
    say('Installing the Debian packages');
    installMs += timed(() => aptGet(missing, 'install'));
  }
  if (npm) {
    say('Installing the npm packages into node_modules');
    installMs += timed(installNpm);
  }
  if (!webIsBuilt()) {
    say('Building the web app');
    installMs += timed(buildWeb);
  }
  await build();
  await packAgent(say);
  return { downloadMs, installMs };
}
