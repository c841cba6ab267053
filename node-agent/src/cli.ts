import closeWithGrace from 'close-with-grace';
import { Agent } from './agent.ts';
import { type AgentConfig, ConfigError, type Environment, readConfig } from './config/environment.ts';
import { doctor } from './doctor.ts';
import { enroll } from './enroll.ts';
import { systemClock } from './platform/clock.ts';
import { createLogger, type Logger } from './platform/logger.ts';
import { systemRandom } from './platform/random.ts';
import { errorText } from './platform/text.ts';
import { AGENT_VERSION } from './version.ts';

const USAGE = `footlight node agent ${AGENT_VERSION}

usage: node-agent run       serve sessions on this host until it is stopped
       node-agent enroll    enrol this host with SERVICE_ENROLLMENT_TOKEN, then stop
       node-agent doctor    check this host and print what is wrong and how to mend it

The configuration comes from the environment; SERVICE_CONTROL_URL is required.
`;

/** Longer than the sessions' own limit, so that they are the ones to decide. */
const CLOSE_LIMIT_MS = 12_000;

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
  if (!['run', 'enroll', 'doctor'].includes(command) || rest.length > 0) {
    process.stderr.write(USAGE);
    return 2;
  }
  let config: AgentConfig;
  try {
    config = readConfig(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`node-agent: ${error.message}\n`);
    return 2;
  }
  const logger = createLogger(config.logLevel);
  const deps = { clock: systemClock, random: systemRandom, logger };
  try {
    if (command === 'doctor') return await doctor(config, (line) => process.stdout.write(`${line}\n`));
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
  const agent = await Agent.start(config, deps);
  return new Promise((resolve) => {
    const closer = closeWithGrace({ delay: CLOSE_LIMIT_MS, logger: false }, async ({ signal, err }) => {
      if (err) deps.logger.fatal({ error: errorText(err) }, 'agent.unexpected_error');
      deps.logger.info({ signal }, 'agent.stopping');
      await agent.stop();
      resolve(err ? 1 : 0);
    });
    void agent.restartAsked.then(async () => {
      deps.logger.info('agent.restarting');
      await agent.stopForRestart();
      closer.uninstall();
      process.exit(0);
    });
  });
}
