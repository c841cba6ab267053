// Keeps an installed agent running on machines without a service manager, as scripts/up does on its own machine. The
// archive contains this program and the files that it imports. It passes its own environment to the agent.
import { fileURLToPath } from 'node:url';
import { healthUrl, supervise } from './supervise.mjs';

/** Longer than the 8 s that the agent gives its sessions to end when it is stopped. */
const STOP_MS = 12_000;

const [, host = '127.0.0.1', port = '9091'] =
  /^(.+):(\d+)$/.exec(process.env.SERVICE_AGENT_HEALTH_ADDR ?? '') ?? [];

const agent = supervise(
  {
    name: 'node agent',
    command: [process.execPath, fileURLToPath(new URL('../node-agent/dist/main.js', import.meta.url)), 'run'],
    logFile: '/var/log/footlight-agent.log',
    env: process.env,
    health: { url: healthUrl({ host, port }) },
  },
  (line) => process.stderr.write(`${line}\n`),
);
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM']))
  process.once(signal, () => void agent.stop(STOP_MS).then(() => process.exit(0)));
// Ignored, so that the agent keeps running when the person who started it closes the terminal.
process.on('SIGHUP', () => undefined);
