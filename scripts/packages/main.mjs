// Builds the Debian packages: footlight-control with the control plane, and footlight-agent with the agent. Each
// contains the built program, its modules and its own Node. The files are laid out as in a checkout, so the programs find
// each other by the same relative paths. With --image it also builds the image of the control plane from its package.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { LEFT_OUT, layOutAgent, linker, modulesBelow, packAgent } from '../agent-archive/pack.mjs';
import { builtFilesOf } from '../lib/build.mjs';
import { hostPackages, upPackages } from '../lib/debian-packages.mjs';
import { prepare, root } from '../lib/prepare.mjs';
import { run } from '../lib/run.mjs';
import { longTermNode, sqliteFor } from './node-binary.mjs';

const sources = path.join(root, 'scripts', 'packages');
/** Modules that the control plane's bundle loads by name at run time. */
const MODULES = ['@node-rs/argon2', 'better-sqlite3', 'koffi', 'pino', 'sharp'];
/** Parts of modules that are needed only to build them. */
const BUILD_PARTS = ['node_modules/better-sqlite3/deps', 'node_modules/better-sqlite3/build'];

const { values, positionals } = parseArgs({
  options: { version: { type: 'string' }, image: { type: 'boolean' }, base: { type: 'string' } },
  allowPositionals: true,
});
const target = path.resolve(positionals[0] ?? 'packages-out');
const say = (/** @type {string} */ line) => void process.stdout.write(`${line}\n`);

await prepare({ packages: upPackages(), say });
mkdirSync(target, { recursive: true });
const work = mkdtempSync(path.join(target, '.building-'));
try {
  const node = longTermNode(say);
  for (const built of [await buildControl(node), buildAgent(node)]) say(`Written: ${built}`);
  if (values.image) say(`Built: ${buildImage()}`);
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** @param {import('./node-binary.mjs').Node} node */
async function buildControl(node) {
  const name = 'footlight-control';
  const links = path.join(work, `${name}-links`);
  const link = linker(links);
  const control = path.join(root, 'control-plane');
  link(node.binary, 'node');
  link(path.join(root, 'LICENSE'), 'LICENSE');
  for (const file of builtFilesOf('control-plane'))
    link(path.join(control, 'dist', file), 'control-plane', 'dist', file);
  link(writeManifest('control-plane'), 'control-plane/package.json');
  link(path.join(control, 'src/reference/page'), 'control-plane/src/reference/page');
  link(path.join(root, 'packages/web/dist'), 'packages/web/dist');
  for (const [module, folder] of modulesBelow(control, MODULES))
    link(folder, 'control-plane/node_modules', module);
  const swagger = path.join(control, 'node_modules/@fastify/swagger-ui');
  for (const part of ['package.json', 'static'])
    link(path.join(swagger, part), 'control-plane/node_modules/@fastify/swagger-ui', part);
  const archive = path.join(work, 'archive');
  await packAgent(say, node.binary, archive, writeManifest('node-agent'));
  for (const file of ['agent.sh', 'agent-linux-x64.tgz'])
    link(path.join(archive, file), 'node-agent/dist/install', file);
  const files = copyTree(links, `${name}/usr/lib/${name}`, BUILD_PARTS);
  const sqlite = path.join(files, 'control-plane/node_modules/better-sqlite3/build/Release');
  mkdirSync(sqlite, { recursive: true });
  copyFileSync(sqliteFor(node, say), path.join(sqlite, 'better_sqlite3.node'));
  const completions = path.join(work, name, 'usr/share/bash-completion/completions');
  mkdirSync(completions, { recursive: true });
  const program = path.join(control, 'dist/cli-main.js');
  const completion = run([process.execPath, program, 'completion', 'bash'], 'Making the completion');
  writeFileSync(path.join(completions, 'footlight'), completion);
  return finish(name, 'control-plane', 'control', {
    Depends: 'libc6 (>= 2.36), libstdc++6, libsystemd0, dpkg-repack',
    Recommends: 'postgresql-client',
    Description: `Footlight control plane
 Streams apps and games from GPU hosts into a browser. The control plane manages
 people, apps, hosts and sessions, and serves the web app.`,
  });
}

/** @param {import('./node-binary.mjs').Node} node */
function buildAgent(node) {
  const name = 'footlight-agent';
  const links = path.join(work, `${name}-links`);
  layOutAgent(links, node.binary, writeManifest('node-agent'));
  copyTree(links, `${name}/usr/lib/${name}`, []);
  return finish(name, 'node-agent', 'agent', {
    Depends: [
      'libc6 (>= 2.36)',
      'libstdc++6',
      'ca-certificates',
      ...hostPackages.map((each) => each.name),
    ].join(', '),
    Suggests: 'podman, catatonit, nvidia-driver, mesa-va-drivers',
    Description: `Footlight node agent
 Makes this machine a host of Footlight: runs apps, encodes their pictures and
 sends them to browsers.`,
  });
}

/**
 * Copies a tree of links as files, without the parts that are not needed.
 * @param {string} links
 * @param {string} to below the working folder
 * @param {readonly string[]} leftOut
 */
function copyTree(links, to, leftOut) {
  const files = path.join(work, to);
  mkdirSync(files, { recursive: true });
  const excluded = [...LEFT_OUT, ...leftOut].map((pattern) => `--exclude=${pattern}`);
  const archive = path.join(work, 'tree.tar');
  run(['tar', '-cf', archive, '--dereference', ...excluded, '-C', links, '.'], 'Copying the files');
  run(['tar', '-xf', archive, '-C', files, '--no-same-owner'], 'Copying the files');
  rmSync(archive);
  return files;
}

/**
 * Builds the image of the control plane with podman, or with Docker if podman is not installed.
 * @returns {string} its name
 */
function buildImage() {
  const version = versionOf('control-plane');
  const name = `localhost/footlight-control:${version}`;
  const file = path.join(root, 'deploy/container/Containerfile');
  const hasPodman = spawnSync('podman', ['--version']).status === 0;
  run(
    [
      // Podman's own format of images has no health check.
      ...(hasPodman ? ['podman', 'build', '--format=docker'] : ['docker', 'build']),
      ...[`--file=${file}`, `--tag=${name}`, `--build-arg=VERSION=${version}`],
      ...(values.base === undefined ? [] : [`--build-arg=BASE=${values.base}`]),
      target,
    ],
    'Building the image',
  );
  return name;
}

/** @param {string} program */
function manifestOf(program) {
  return JSON.parse(readFileSync(path.join(root, program, 'package.json'), 'utf8'));
}

/** @param {string} program */
function versionOf(program) {
  return values.version ?? manifestOf(program).version;
}

/**
 * Writes the package.json from which an installed program reads its version.
 * @param {string} program
 * @returns {string} its path
 */
function writeManifest(program) {
  const { name, type } = manifestOf(program);
  const manifest = { name, version: versionOf(program), private: true, type };
  const file = path.join(work, `${program}.json`);
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
  return file;
}

/**
 * Adds the command and the control files, and builds the package.
 * @param {string} name
 * @param {string} program folder of the program, whose package.json names the version
 * @param {string} scripts folder of the maintainer scripts
 * @param {Record<string, string>} fields
 */
function finish(name, program, scripts, fields) {
  const stage = path.join(work, name);
  const version = versionOf(program);
  const control = path.join(stage, 'DEBIAN');
  mkdirSync(control, { recursive: true });
  for (const file of readdirSync(path.join(sources, scripts))) {
    const text = readFileSync(path.join(sources, scripts, file), 'utf8').replaceAll('@VERSION@', version);
    const isCommand = file.startsWith('footlight');
    const folder = isCommand ? path.join(stage, 'usr/bin') : control;
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, file), text, { mode: 0o755 });
  }
  const size = run(['du', '-sk', '--exclude=DEBIAN', stage], 'Measuring the package').split('\t')[0];
  const lines = {
    Package: name,
    Version: version,
    Architecture: 'amd64',
    Maintainer: 'Footlight maintainers <maintainers@footlight.invalid>',
    Section: 'net',
    Priority: 'optional',
    'Installed-Size': size,
    ...fields,
  };
  writeFileSync(
    path.join(control, 'control'),
    `${Object.entries(lines)
      .map(([field, value]) => `${field}: ${value}`)
      .join('\n')}\n`,
  );
  run(['chmod', '-R', 'u+rwX,go+rX,go-w', stage], 'Setting the modes of files');
  const built = path.join(target, `${name}_${version}_amd64.deb`);
  // zstd packs ten times as fast as xz; the package is 15 % larger.
  run(['dpkg-deb', '--root-owner-group', '-Zzstd', '--build', stage, built], `Building ${name}`);
  return built;
}
