import { errorText, within } from '@footlight/platform';
import type { ConfigUpdate, ControlCommand, Register } from '@footlight/protocol/agent';
import type { AgentParts } from './agent-parts.ts';
import type { CommandAnswer } from './link/ack-store.ts';
import type { LinkHandler } from './link/control-link.ts';
import { unknownCommand } from './sessions/supervisor.ts';

/**
 * Time limit at the start for sending the job reports that the former agent process left unsent. Chosen, not measured.
 */
const KEPT_REPORTS_MS = 2_000;
const OK: CommandAnswer = { ok: true };

/**
 * Handles the control plane's messages for one agent, and supplies the agent's registration and reports.
 * @param agent returns the agent's parts; called only after the link has started, when all parts exist
 * @param requestRestart called after the ack of a restart command was sent
 */
export function agentLinkHandler(agent: () => AgentParts, requestRestart: () => void): LinkHandler {
  return {
    register: () => {
      const parts = agent();
      return {
        features: [
          'tune',
          'swap',
          'display',
          'stream_resize',
          'capture',
          'recorder',
          'guests',
          'preflight',
          'home_base',
          ...(parts.config.processRuntime ? ['process_runtime'] : []),
          ...(parts.console.need() === null ? ['console'] : []),
          ...imageFeatures(parts),
        ],
        sessions: parts.supervisor.held(),
        ...heldImages(parts),
      };
    },
    capacity: async () => {
      const parts = agent();
      const { console, displays, inventory, link } = parts;
      parts.reportedStorage = await inventory.storage();
      const [capacity, console_capabilities] = await Promise.all([
        inventory.capacity(link.clock, { wanted: console.wanted, lacks: console.lacks }),
        displays.read(),
      ]);
      return { ...capacity, console_capabilities };
    },
    heartbeat: () => {
      const { inventory, supervisor } = agent();
      return {
        running_sessions: supervisor.running(),
        ...inventory.heartbeat(supervisor.liveByGpu()),
      };
    },
    command: (command) => obey(agent(), command, requestRestart),
    signaling: (frame) => agent().supervisor.signaling(frame),
    registered: ({ session_grace_secs }) => {
      const { inventory, supervisor } = agent();
      supervisor.registered(session_grace_secs);
      inventory.registered(session_grace_secs);
      startPolls(agent());
    },
    seen: (seq) => agent().supervisor.seen(seq),
    linkReady: () => {
      agent().supervisor.linkUp = true;
    },
    // The registration makes the control plane end all unreported runs of the former process. So the reports of these
    // runs must be sent before it.
    beforeDial: () => {
      const { clock, jobs } = agent();
      return within(clock, KEPT_REPORTS_MS, jobs.sendKept(), undefined);
    },
    linkLost: () => {
      const { images, supervisor } = agent();
      supervisor.linkUp = false;
      // The next registration lists the images that the engine stores, so the list is refreshed now.
      void images?.check();
    },
  };
}

/**
 * Starts to poll the control plane for jobs and library scans. Needs the host's identity; a second call does nothing.
 */
export function startPolls({ jobs, homeScanner }: AgentParts): void {
  jobs.start();
  homeScanner.start();
}

/** Reports the current capacity. Without a connection, the agent reports it after the next registration. */
export function reportCapacity({ link, logger }: AgentParts): void {
  void link.sendCapacity().catch((error) => {
    logger.error({ error: errorText(error) }, 'capacity.failed');
  });
}

/** Returns an empty object while the engine does not answer; the control plane then keeps the last reported images. */
export function heldImages({ containers, images }: AgentParts): Pick<Register, 'images'> {
  const held = containers.engine.works ? images?.held : undefined;
  return held === undefined ? {} : { images: held };
}

async function obey(
  parts: AgentParts,
  command: ControlCommand,
  requestRestart: () => void,
): Promise<CommandAnswer> {
  const { images, supervisor } = parts;
  switch (command.type) {
    case 'config_update':
      return configure(parts, command);
    case 'restart':
      // Deferred until the ack was sent, because the process must not exit before it has answered the command.
      setImmediate(requestRestart);
      return OK;
    case 'image_ensure':
    case 'image_build':
    case 'image_remove':
      if (images === null || imageFeatures(parts).length === 0) return unknownCommand(command);
      return images.command(command);
    case 'preflight':
      return parts.preflights.run(command);
    default:
      return supervisor.command(command);
  }
}

async function configure(
  parts: AgentParts,
  { settings, console_config }: ConfigUpdate,
): Promise<CommandAnswer> {
  parts.console.configure(console_config);
  await parts.settings.apply(settings);
  reportCapacity(parts);
  return OK;
}

/** Images can be built only if at least one source host is allowed. */
function imageFeatures({ config, containers }: AgentParts): string[] {
  if (!containers.engine.works) return [];
  return ['images', ...(config.imageSourceHosts.length > 0 ? ['image_build'] : [])];
}
