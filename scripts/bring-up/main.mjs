// scripts/up: prepares and starts the whole product on this machine, from a fresh clone, and prints the address to
// open.
import { spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { upPackages } from '../lib/debian-packages.mjs';
import { missingPackages, npmIsInstalled, prepare, root, rootPrefix, webIsBuilt } from '../lib/prepare.mjs';
import { demoApps, seedEntries } from './demo-apps.mjs';
import { keepEnrollmentToken, makeDirectories, placesFor, reachableAddresses } from './places.mjs';
import { takenPorts } from './ports.mjs';
import { productParts, reloadOnChange } from './reload.mjs';
import { startReplicas } from './replicas.mjs';
import { healthUrl, supervise } from './supervise.mjs';
import { startTurnServer, turnPort } from './turn-server.mjs';

const START_LIMIT_MS = 60_000;
/** Longer than the 8 s that the agent gives its sessions to end when it is stopped. */
const AGENT_STOP_MS = 10_000;
const CONTROL_STOP_MS = 5_000;

const say = (/** @type {string} */ line) => process.stdout.write(`${line}\n`);

const usage = `Usage: scripts/up [--dry-run] [--replicas COUNT] [--turn]
       scripts/dev [--dry-run]

Starts Footlight on this machine: the control plane, a node agent and demo apps.
Installs missing Debian and npm packages, and says so first. Ctrl-C stops all programs.
scripts/dev also watches the sources, and builds and restarts each program whose sources change.

  --dry-run          list packages, ports and files, and change nothing
  --replicas COUNT   2 to 9 control planes with Postgres, NATS and HAProxy, to try what a larger fleet has
  --turn             also a TURN server (coturn) for browsers that reach no host directly

Ports: CONTROL_PORT (8080), SERVICE_TLS_PORT (8443), SERVICE_AGENT_HEALTH_ADDR (127.0.0.1:9091).
Files: SERVICE_DATA_DIR, SERVICE_AGENT_STATE_DIR. Database: DATABASE_URL (unset: SQLite).
`;

const KNOWN_WORDS = new Set(['--dry-run', '--reload', '--turn']);

async function main() {
  const words = process.argv.slice(2);
  if (words.includes('--help') || words.includes('-h')) return say(usage);
  const reload = words.includes('--reload');
  const turn = words.includes('--turn');
  const at = words.indexOf('--replicas');
  const [, text = ''] = at < 0 ? [] : words.splice(at, 2);
  const replicas = at < 0 ? 1 : Number(text);
  const unknown = words.find((word) => !KNOWN_WORDS.has(word));
  const problem =
    unknown !== undefined
      ? `scripts/up does not know '${unknown}'.`
      : at >= 0 && !/^[2-9]$/.test(text)
        ? `--replicas takes a number from 2 to 9; it is '${text}'.`
        : null;
  if (problem !== null) {
    process.stderr.write(`${problem}\n\n${usage}`);
    process.exitCode = 2;
    return;
  }
  const places = placesFor(process.env, replicas > 1);
  const ports = [...portsOf(places), ...(turn ? [turnPort] : [])];
  const packages = upPackages({ replicas: replicas > 1, turn });
  if (words.includes('--dry-run')) return dryRun(places, ports, packages);

  const began = performance.now();
  refuse(await takenPorts(ports));
  const { downloadMs, installMs } = await prepare({ packages, say });
  if (reachableAddresses().length === 0) {
    say(
      'This machine has no address besides loopback. Pages will open, but browsers offer no loopback candidates for WebRTC, so no picture can be shown. Give it an address on a network.',
    );
  }
  makeDirectories(places);
  keepEnrollmentToken(places);
  const apps = publishApps(places);
  writeFileSync(places.seedFile, `${JSON.stringify(apps, null, 2)}\n`, { mode: 0o600 });
  say(
    `Starting ${replicas > 1 ? `Postgres, NATS, ${replicas} control planes and HAProxy` : 'the control plane'}, then the agent, which measures what this machine can encode.`,
  );
  if (!places.asRoot)
    say('Not running as root: apps run as this user and can read whatever this user can read.');

  const env = {
    ...process.env,
    SERVICE_DATA_DIR: places.controlDir,
    SERVICE_SETUP_TOKEN_PATH: places.setupToken,
    SERVICE_DEV_AGENT_KEY_PATH: places.devAgentKey,
    SERVICE_SEED_FILE: places.seedFile,
    SERVICE_ENROLLMENT_TOKEN_FILE: places.enrollmentToken,
  };
  const turnServer = turn ? await startTurnServer({ places, addresses: reachableAddresses(), say }) : null;
  Object.assign(env, turnServer?.env);
  const control =
    replicas > 1
      ? await startReplicas({
          places,
          count: replicas,
          env,
          publicUrl: addressesOf(places)[0] ?? '',
          say,
        }).catch(async (error) => {
          await turnServer?.stop(CONTROL_STOP_MS);
          throw error;
        })
      : supervise(
          {
            name: 'control plane',
            command: [path.join(root, 'scripts', 'control-plane')],
            logFile: path.join(places.logDir, 'control-plane.log'),
            env,
          },
          say,
        );
  /** @type {ReturnType<typeof supervise> | null} */
  let agent = null;
  let stopping = false;
  let endReload = () => {};
  const stopAll = async () => {
    if (stopping) return;
    stopping = true;
    endReload();
    say('\nStopping: running apps first, then the agent and the control plane.');
    await agent?.stop(AGENT_STOP_MS);
    await control.stop(CONTROL_STOP_MS);
    await turnServer?.stop(CONTROL_STOP_MS);
    say('Everything is stopped.');
  };
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => void stopAll());

  const plain = `http://127.0.0.1:${places.httpPort}`;
  if (!(await comesUp(control, `${plain}/health`, () => stopping))) {
    if (!stopping) failed('control plane', control, places);
    return stopAll();
  }
  agent = supervise(
    {
      name: 'node agent',
      command: [path.join(root, 'scripts', 'node-agent'), 'run'],
      logFile: path.join(places.logDir, 'node-agent.log'),
      env: {
        ...process.env,
        SERVICE_CONTROL_URL: plain,
        SERVICE_AGENT_STATE_DIR: places.agentDir,
        SERVICE_ENROLLMENT_TOKEN_FILE: places.enrollmentToken,
        SERVICE_PROCESS_RUNTIME: process.env.SERVICE_PROCESS_RUNTIME ?? '1',
      },
      health: { url: healthUrl(places.health) },
    },
    say,
  );
  const connected = (/** @type {{connected?: boolean}} */ health) => health.connected === true;
  if (!(await comesUp(agent, healthUrl(places.health), () => stopping, connected))) {
    if (!stopping) failed('node agent', agent, places);
    return stopAll();
  }

  const startMs = performance.now() - began - downloadMs - installMs;
  announce(places, { downloadMs, installMs, startMs });
  if (!reload) return;
  const { restart } = agent;
  endReload = reloadOnChange(
    productParts({ control: () => control.restart(CONTROL_STOP_MS), agent: () => restart(AGENT_STOP_MS) }),
    say,
  );
  say(
    'Watching the sources: after a change the affected program is built and restarted. After a change of the web app reload the page.',
  );
}

/** @param {import('./places.mjs').Places} places @returns {import('./ports.mjs').WantedPort[]} */
function portsOf({ httpPort, httpsPort, health, fallbackPort }) {
  return [
    { port: httpPort, what: 'agents and health checks, HTTP', variable: 'CONTROL_PORT' },
    { port: httpsPort, what: 'browsers, HTTPS', variable: 'SERVICE_TLS_PORT' },
    { ...health, what: 'the agent’s own health', variable: 'SERVICE_AGENT_HEALTH_ADDR' },
    ...(fallbackPort === null
      ? []
      : [
          {
            port: fallbackPort,
            what: 'picture, sound and input of browsers without UDP',
            variable: 'SERVICE_MEDIA_FALLBACK_PORT',
          },
        ]),
  ];
}

/** @param {string[]} sentences */
function refuse(sentences) {
  if (sentences.length === 0) return;
  process.stderr.write(`${sentences.join('\n')}\n`);
  process.exit(1);
}

/**
 * @param {import('./places.mjs').Places} places
 * @param {import('./ports.mjs').WantedPort[]} ports
 * @param {import('../lib/debian-packages.mjs').DebianPackage[]} packages
 */
async function dryRun(places, ports, packages) {
  const missing = missingPackages(packages);
  say(
    missing.length === 0
      ? 'Debian packages: all are installed.'
      : `Debian packages to install${rootPrefix() === null ? ' (needs root or sudo)' : ''}:`,
  );
  for (const p of missing) say(`  ${p.name.padEnd(28)} ${p.why}`);
  say(
    npmIsInstalled()
      ? 'npm packages: installed.'
      : 'npm packages: to install into node_modules, about 650 MB, exactly as locked.',
  );
  say(webIsBuilt() ? 'Web app: built.' : 'Web app: to build into packages/web/dist.');
  say('Ports:');
  const taken = await takenPorts(ports);
  for (const p of ports)
    say(`  ${String(p.port).padEnd(28)} ${p.what}${p.variable === null ? '' : ` (${p.variable})`}`);
  for (const sentence of taken) say(`  ${sentence}`);
  say(`  ${'UDP, ephemeral'.padEnd(28)} picture, sound and input, straight between browser and host`);
  say('Files:');
  for (const [file, what] of [
    [places.controlDir, 'database, certificate, seed file, logs'],
    [places.agentDir, 'the node’s identity, homes of apps, scratch of running sessions'],
    [places.setupToken, 'the setup token, until an administrator exists'],
  ]) {
    say(`  ${String(file).padEnd(28)} ${what}`);
  }
  say(
    reachableAddresses().length === 0
      ? 'Addresses: only loopback, so no picture could be shown.'
      : `Addresses: ${reachableAddresses().join(', ')}`,
  );
}

/** Whether the users of sessions, which have no special rights, can read this file. @param {string} file */
function readableByOthers(file) {
  if (process.getuid?.() !== 0) return true;
  return (
    spawnSync('setpriv', ['--reuid', '65534', '--regid', '65534', '--clear-groups', 'test', '-r', file])
      .status === 0
  );
}

/**
 * Copies the files of the Diagnostics app to a folder that the users of sessions can read, and lists the apps that are
 * installed.
 * @param {import('./places.mjs').Places} places
 */
function publishApps(places) {
  const dir = path.join(places.agentDir, 'apps');
  mkdirSync(dir, { recursive: true, mode: 0o755 });
  const diagnostics = path.join(dir, 'diagnostics.mjs');
  copyFileSync(path.join(root, 'node-agent', 'dist', 'diagnostics.mjs'), diagnostics);
  chmodSync(diagnostics, 0o644);
  let node = process.execPath;
  if (!readableByOthers(node)) {
    node = path.join(dir, 'node');
    if (!existsSync(node) || statSync(node).size !== statSync(process.execPath).size)
      copyFileSync(process.execPath, node);
    chmodSync(node, 0o755);
  }
  accessSync(node, constants.X_OK);
  return seedEntries(demoApps({ node, diagnostics }));
}

/**
 * Waits until a program answers on its health address or exits, or until the time limit has passed.
 * @param {Pick<ReturnType<typeof supervise>, 'exitedOnce'>} program
 * @param {string} url
 * @param {() => boolean} cancelled
 * @param {(health: object) => boolean} [isReady]
 */
async function comesUp(program, url, cancelled, isReady = () => true) {
  let exited = false;
  void program.exitedOnce.then(() => {
    exited = true;
  });
  const deadline = performance.now() + START_LIMIT_MS;
  while (!exited && !cancelled() && performance.now() < deadline) {
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(1_000) });
      if (answer.ok && isReady(/** @type {object} */ (await answer.json()))) return true;
    } catch {
      // The program does not listen yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}

/**
 * @param {string} name
 * @param {Pick<ReturnType<typeof supervise>, 'lastLines'>} program
 * @param {import('./places.mjs').Places} places
 */
function failed(name, program, places) {
  process.stderr.write(
    `\nThe ${name} did not come up. The end of its log in ${places.logDir}:\n\n${program.lastLines()}\n`,
  );
  process.exitCode = 1;
}

/** Addresses that browsers can open, the best one first. @param {import('./places.mjs').Places} places */
function addressesOf({ httpsPort }) {
  const port = httpsPort === 443 ? '' : `:${httpsPort}`;
  const hosts = [...reachableAddresses().map((a) => (a.includes(':') ? `[${a}]` : a)), 'localhost'];
  return hosts.map((host) => `https://${host}${port}`);
}

/**
 * @param {import('./places.mjs').Places} places
 * @param {{downloadMs: number, installMs: number, startMs: number}} times
 */
function announce(places, { downloadMs, installMs, startMs }) {
  const seconds = (/** @type {number} */ ms) => `${(ms / 1000).toFixed(1)} s`;
  const [first = '', ...others] = addressesOf(places);
  const claimed = !existsSync(places.setupToken);
  const page = claimed ? '/app' : '/setup';
  say('');
  say(`Footlight is up. Open   ${first}${page}`);
  for (const other of others) say(`                  or   ${other}${page}`);
  say('The certificate is this server’s own, so the browser warns once.');
  say(
    claimed
      ? 'Already set up:        log in with an account of this instance.'
      : `It asks for a token:   cat ${places.setupToken}`,
  );
  say(`Data:                  ${places.controlDir}`);
  say(`Logs:                  ${places.logDir}`);
  say(
    `Downloads took ${seconds(downloadMs)}, installing ${seconds(installMs)}, starting ${seconds(startMs)}. Ctrl-C stops all of it.`,
  );
}

// Errors are ignored, because a reader of the output that closes its pipe must not end the product.
process.stdout.on('error', () => undefined);

main().catch((error) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
