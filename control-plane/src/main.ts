import { isatty } from 'node:tty';
import {
  connectServiceManager,
  createLogger,
  errorText,
  ServicePulse,
  systemClock,
  watchdogMs,
} from '@footlight/platform';
import closeWithGrace from 'close-with-grace';
import { buildControlPlane } from './app.ts';
import { install } from './install/install.ts';
import { RELEASE } from './install-location.ts';
import { ConfigError, type LoadedConfig, readConfig } from './platform/config/config.ts';

/** Time for an orderly stop after a signal. Afterwards the process exits. */
const GRACE_MS = 10_000;

async function main(): Promise<void> {
  if (process.argv[2] === 'install') {
    process.exitCode = await install(process.env, (line) => void process.stdout.write(`${line}\n`));
    return;
  }
  const loaded = load();
  if (process.argv.includes('--print-config')) {
    printConfig(loaded);
    return;
  }
  const { config, warnings } = loaded;
  const logger = createLogger(config.logLevel);
  logger.info({ version: RELEASE }, 'service.starting');
  for (const warning of warnings) logger.warn({ warning }, 'config.warning');
  const notify = await connectServiceManager(process.env);
  const service = await buildControlPlane(config, { logger });
  const stopLogger = {
    // Log an error or time-out that interrupts the stop.
    error: (what: unknown) => logger.fatal({ error: errorText(what) }, 'service.stop_failed'),
  };
  // On a terminal, SIGHUP means that the terminal was closed, and stops the process. A service gets it from an operator.
  const reloadsOnHangup = !isatty(0);
  if (reloadsOnHangup) process.on('SIGHUP', () => void service.reloadCertificate());
  const stopOptions = {
    delay: config.drainMs + GRACE_MS,
    logger: stopLogger,
    ...(reloadsOnHangup && { skip: ['SIGHUP' as const] }),
  };
  closeWithGrace(stopOptions, async ({ err, signal }) => {
    if (err) logger.fatal({ err }, 'service.failed');
    else logger.info({ signal, drain_ms: config.drainMs }, 'service.stopping');
    notify('STOPPING=1', `EXTEND_TIMEOUT_USEC=${(config.drainMs + GRACE_MS) * 1_000}`);
    if (!err) await service.drain();
    await service.close();
  });
  try {
    const addresses = await service.listen();
    notify('READY=1', `STATUS=listening on ${[addresses.https, addresses.http].filter(Boolean).join(', ')}`);
    new ServicePulse({ notify, clock: systemClock, watchdogMs: watchdogMs(process.env, process.pid) });
    // The terminal shows the address, so a person or a script need not read the log.
    process.stderr.write(`Footlight control plane: ${addresses.https ?? addresses.http}\n`);
  } catch (error) {
    await service.close();
    throw error;
  }
}

function load(): LoadedConfig {
  try {
    return readConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}

function printConfig({ lines }: LoadedConfig): void {
  const width = Math.max(...lines.map(({ name }) => name.length));
  const rows = lines.map(
    ({ name, value, source }) =>
      `${name.padEnd(width)}  ${value ?? '(unset)'}${value === null ? '' : `  [${source}]`}\n`,
  );
  // One write, because a second one fails if the reader of a pipe, such as head, has ended.
  process.stdout.write(rows.join(''));
}

main().catch((error: unknown) => {
  // The terminal shows one sentence about the failed start. The log level debug adds the stack.
  process.stderr.write(`The control plane cannot start: ${errorText(error)}\n`);
  if (process.env.SERVICE_LOG_LEVEL === 'debug' && error instanceof Error)
    process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
