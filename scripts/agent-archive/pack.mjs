// Packs the agent for hosts without a checkout: this host's Node binary, the bundle and its native modules, and the
// script that installs them. The archive is packed again only after a change; the control plane serves both files.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { createGzip } from 'node:zlib';
import { builtFilesOf } from '../lib/build.mjs';
import { hostPackages } from '../lib/debian-packages.mjs';
import { digestOf } from '../lib/digest.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const agent = path.join(root, 'node-agent');
const INSTALL_FILES = path.join(agent, 'dist', 'install');
const MANIFEST = path.join(agent, 'package.json');
const ARCHIVE = 'agent-linux-x64.tgz';
/** Modules that the bundle loads by name at run time. */
const MODULES = ['koffi', 'node-datachannel', 'pino', 'x11'];
/** Parts of packages that are not needed: sources of their native parts, manuals and tests. */
export const LEFT_OUT = [
  'node_modules/koffi/vendor',
  'node_modules/koffi/doc',
  'node_modules/koffi/lib',
  'node_modules/node-datachannel/src',
  'node_modules/*/node_modules',
  'node_modules/*/test',
  'node_modules/*/tests',
  'node_modules/*/docs',
  'node_modules/*/examples',
  'node_modules/*/benchmarks',
  '*.d.ts',
  '*.d.mts',
  '*.d.cts',
  '*.map',
  '*.cc',
  '*.hh',
  '*.S',
  '*.asm',
  '*.inc',
];

/**
 * Packs the archive if it is missing or outdated. The agent's bundle must have been built.
 * @param {(line: string) => void} [say] called with a message before packing, which takes a moment
 * @param {string} [node] the Node binary for the hosts
 * @param {string} [target] folder of the archive and the script
 * @param {string} [manifest] the package.json, from which the agent reads its version
 */
export async function packAgent(
  say = () => {},
  node = process.execPath,
  target = INSTALL_FILES,
  manifest = MANIFEST,
) {
  // The archive's name contains the platform; other platforms are not packed.
  if (process.platform !== 'linux' || process.arch !== 'x64') return;
  const built = readdirSync(path.join(agent, 'dist')).filter((name) => /^\..*\.digest$/.test(name));
  const digest = createHash('sha256')
    .update(
      digestOf(root, [
        'pnpm-lock.yaml',
        'scripts/agent-archive',
        'scripts/bring-up',
        'scripts/lib/debian-packages.mjs',
      ]),
    )
    .update(
      built
        .sort()
        .map((name) => readFileSync(path.join(agent, 'dist', name), 'utf8'))
        .join(),
    )
    .digest('hex');
  const stamp = path.join(target, '.digest');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return;
  say('Packing the agent for other hosts');
  mkdirSync(target, { recursive: true });
  const work = mkdtempSync(path.join(target, '.packing-'));
  try {
    const stage = path.join(work, 'stage');
    layOutAgent(stage, node, manifest);
    const archive = path.join(work, ARCHIVE);
    const sha256 = await writeArchive(stage, archive);
    const script = path.join(work, 'agent.sh');
    writeFileSync(script, scriptFor(sha256));
    chmodSync(script, 0o644);
    // The archive is written before the script, because the script must not be served before the archive that it
    // downloads.
    renameSync(archive, path.join(target, ARCHIVE));
    renameSync(script, path.join(target, 'agent.sh'));
    writeFileSync(stamp, digest);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * Builds the tree of an installed agent from links.
 * @param {string} stage
 * @param {string} node the Node binary
 * @param {string} manifest the package.json, from which the agent reads its version
 */
export function layOutAgent(stage, node, manifest) {
  const link = linker(stage);
  link(node, 'node');
  link(path.join(root, 'LICENSE'), 'LICENSE');
  link(manifest, 'node-agent', 'package.json');
  for (const name of builtFilesOf('node-agent'))
    link(path.join(agent, 'dist', name), 'node-agent', 'dist', name);
  for (const name of ['supervise.mjs', 'supervise-agent.mjs', 'log-file.mjs', 'system-clock.mjs'])
    link(path.join(root, 'scripts/bring-up', name), 'supervisor', name);
  for (const [name, folder] of modulesBelow(agent, MODULES)) link(folder, 'node-agent', 'node_modules', name);
}

/**
 * Returns a function that creates a link below the stage, with the folders above it.
 * @param {string} stage
 * @returns {(from: string, ...to: string[]) => void}
 */
export const linker =
  (stage) =>
  (from, ...to) => {
    const at = path.join(stage, ...to);
    mkdirSync(path.dirname(at), { recursive: true });
    symlinkSync(from, at);
  };

/**
 * The modules and all packages that they load, each in one version.
 * @param {string} from the folder of the package that imports the modules
 * @param {readonly string[]} modules
 * @returns {Map<string, string>} folder by name
 */
export function modulesBelow(from, modules) {
  /** @type {Map<string, string>} */
  const found = new Map();
  /** @param {string} name @param {string} asker @param {boolean} optional */
  const add = (name, asker, optional) => {
    const folder = folderOf(name, asker);
    if (folder === null) {
      if (optional) return;
      throw new Error(`${name} is not installed, but ${asker} needs it.`);
    }
    const before = found.get(name);
    if (before === folder) return;
    if (before !== undefined) throw new Error(`${from} needs two versions of ${name}.`);
    found.set(name, folder);
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
      readFileSync(path.join(folder, 'package.json'), 'utf8'),
    );
    for (const each of Object.keys(optionalDependencies)) add(each, folder, true);
    for (const each of Object.keys(dependencies))
      if (!(each in optionalDependencies)) add(each, folder, false);
  };
  for (const name of modules) add(name, from, false);
  return found;
}

/**
 * The folder in which Node would find a package.
 * @param {string} name
 * @param {string} asker
 */
function folderOf(name, asker) {
  for (let at = asker; at !== path.dirname(at); at = path.dirname(at)) {
    const folder = path.join(at, 'node_modules', name);
    if (existsSync(path.join(folder, 'package.json'))) return realpathSync(folder);
  }
  return null;
}

/**
 * Writes an archive that has the same bytes for the same content, on every machine and at any time.
 * @param {string} stage
 * @param {string} file
 * @returns {Promise<string>} its SHA-256 in hex
 */
async function writeArchive(stage, file) {
  const words = [
    ...[
      '--create',
      '--dereference',
      '--sort=name',
      '--mtime=@0',
      '--owner=0',
      '--group=0',
      '--numeric-owner',
    ],
    ...[
      '--mode=u+rw,go+r-w,a+X',
      ...LEFT_OUT.map((pattern) => `--exclude=${pattern}`),
      '--directory',
      stage,
      '.',
    ],
  ];
  const tar = spawn('tar', words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise((resolve) => tar.once('exit', resolve));
  // A fast compression level, because a person waits for the result, and the file is sent over a local network.
  await pipeline(tar.stdout, createGzip({ level: 1 }), createWriteStream(file));
  if ((await exited) !== 0) throw new Error('tar could not pack the agent.');
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/** @param {string} sha256 of the archive */
function scriptFor(sha256) {
  const names = hostPackages.map(({ name }) => name);
  return readFileSync(new URL('agent.sh', import.meta.url), 'utf8')
    .replace('@ARCHIVE_SHA256@', sha256)
    .replace('@PACKAGES@', ['ca-certificates', ...names].join(' '));
}
