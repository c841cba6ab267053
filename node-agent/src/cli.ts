import {
  connectServiceManager,
  createLogger,
  type Environment,
  errorText,
  type Logger,
  ServicePulse,
  systemClock,
  systemRandom,
  watchdogMs,
} from '@footlight/platform';
import closeWithGrace from 'close-with-grace';
import { Agent } from './agent.ts';
import { type AgentConfig, ConfigError, readConfig } from './config/environment.ts';
import { doctor } from './doctor.ts';
import { enroll } from './enroll.ts';
import { install } from './install/install.ts';
import { withPatience } from './patience.ts';
import { forbidCoreFiles } from './runtime/confinement/core-files.ts';
import { AGENT_VERSION } from './version.ts';

const USAGE = `footlight node agent ${AGENT_VERSION}

usage: node-agent run       serve sessions on this host until it is stopped
       node-agent enroll    enroll this host with SERVICE_ENROLLMENT_TOKEN, then stop
       node-agent install   run as a service of systemd, from now on and whenever this machine starts
       node-agent doctor    check this host and print what is wrong and how to mend it

The configuration comes from the environment; SERVICE_CONTROL_URL is required. What \`install\` is told it keeps in
/etc/footlight/agent.env, and a later \`install\` may leave it out.
`;

/** Longer than the time limit for ending the sessions (SHUTDOWN_MS in agent.ts), so SHUTDOWN_MS applies first. */
const CLOSE_LIMIT_MS = withPatience(12_000);

/**
 * Runs one command.
 * @returns the exit code: 0 done, 1 failed, 2 wrong usage or configuration
 */
export async function runCli(args: readonly string[], env: Environment): Promise<number> {
  const [command = 'run', ...rest] = args;
  if (['help', '--help', '-h'].includes(command)) {
    process.stdout.write(USAGE);
    return 0;
  }
  if (!['run', 'enroll', 'install', 'doctor'].includes(command) || rest.length > 0) {
    process.stderr.write(USAGE);
    return 2;
  }
  const print = (line: string) => void process.stdout.write(`${line}\n`);
  let config: AgentConfig;
  try {
    if (command === 'install') return await install(env, print);
    config = readConfig(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`node-agent: ${error.message}\n`);
    return 2;
  }
  const logger = createLogger(config.logLevel);
  const deps = { clock: systemClock, random: systemRandom, logger };
  try {
    if (command === 'doctor') return await doctor(config, print);
    if (command === 'enroll') return await enroll(config, deps);
    return await run(config, deps);
  } catch (error) {
    logger.fatal({ error: errorText(error) }, 'agent.cannot_run');
    return 1;
  }
}

async function run(
  config: AgentConfig,
  deps: { clock: typeof systemClock; random: typeof systemRandom; logger: Logger },
): Promise<number> {
  for (const warning of config.warnings) deps.logger.warn({ warning }, 'config.warning');
  const notify = await connectServiceManager(process.env);
  // Called before any child process starts, because child processes inherit this limit.
  await forbidCoreFiles();
  const agent = await Agent.start(config, deps);
  const status = () => statusOf(agent);
  // The service is reported as ready even without a connection: waiting for the control plane is normal operation.
  notify('READY=1', `STATUS=${status()}`);
  const pulse = new ServicePulse({
    notify,
    clock: deps.clock,
    watchdogMs: watchdogMs(process.env, process.pid),
    status,
  });
  const stopping = (why: string) => {
    // The watchdog pulse continues during the stop, so systemd kills the agent if its event loop hangs.
    notify('STOPPING=1', `STATUS=${why}`);
  };
  return new Promise((resolve) => {
    const logger = {
      // Logs the error or timeout that ends the stop early; nothing else reports it.
      error: (what: unknown) => deps.logger.fatal({ error: errorText(what) }, 'agent.stop_failed'),
    };
    const closer = closeWithGrace({ delay: CLOSE_LIMIT_MS, logger }, async ({ signal, err }) => {
      if (err) deps.logger.fatal({ error: errorText(err) }, 'agent.unexpected_error');
      deps.logger.info({ signal }, 'agent.stopping');
      stopping('ending sessions');
      await agent.stop();
      pulse.close();
      resolve(err ? 1 : 0);
    });
    void agent.restartRequested.then(async () => {
      deps.logger.info({}, 'agent.restarting');
      stopping('ending sessions before a restart');
      await agent.stopForRestart();
      closer.uninstall();
      process.exit(0);
    });
  });
}

function statusOf(agent: Agent): string {
  const link = agent.connected ? 'connected to' : 'waiting for';
  return `${link} ${agent.controlUrl.host}, live sessions: ${agent.sessionCount}`;
}
