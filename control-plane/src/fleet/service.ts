import { type Clock, delay, SECOND_MS } from '@footlight/platform';
import { AGENT_INSTALL_FILES } from '../install-location.ts';
import { databaseAnswers } from '../platform/database/index.ts';
import type { AuthenticateNode } from '../platform/http/message/contract.ts';
import { createWindowLimiter, type Limiter } from '../platform/limits.ts';
import type { Platform } from '../platform/platform.ts';
import { Agents } from './agents.ts';
import { ConsoleAdmin } from './console/admin.ts';
import { type ConsoleSessions, ConsoleStarter } from './console/starter.ts';
import { TokenAdmin } from './enrollment/token-admin.ts';
import type { HostPresence } from './fleet.ts';
import { HostAdmin } from './hosts/host-admin.ts';
import { countHosts, countSlots } from './hosts/host-store.ts';
import type { PinnedCertificate } from './install/install-command.ts';
import { ARCHIVE_LIMIT, type InstallFile, openInstallFile } from './install/install-files.ts';
import { AgentLinks } from './links.ts';
import { FleetPresence } from './presence/fleet-presence.ts';
import { Handover } from './presence/handover.ts';
import { SettingsAdmin } from './settings/settings-admin.ts';
import { AgentAuthentication } from './upgrade/agent-upgrade.ts';
import { authenticateNode, nodeSecretCheck } from './upgrade/credentials.ts';
import { type CredentialLimitOptions, CredentialLimits } from './upgrade/limits.ts';

/**
 * Time between the last launch that another replica places on a host of this one, and the last command of this launch.
 * Both commands usually take milliseconds.
 */
const LAST_COMMANDS_MS = SECOND_MS / 2;

export interface FleetDeps {
  /** The machine's real clock, for downloads over real sockets and for the wait in `close`. */
  socketClock: Clock;
  /** Tests that present many wrong credentials raise these limits. */
  credentialLimits?: CredentialLimitOptions;
  /** Maximum hosts that wait for their registration at the same time; tests lower it. */
  maxHandshakes?: number;
  /** This service's certificate at the moment; null: the service offers no TLS. */
  certificate(): PinnedCertificate | null;
  /** Folder of the install files; the folder need not exist. */
  installDir?: string;
}

/** Hosts and their agents. Other features use `agents` and `links`. */
export interface FleetService {
  readonly agents: Agents;
  readonly links: AgentLinks;
  readonly presence: HostPresence;
  readonly authentication: AgentAuthentication;
  readonly hosts: HostAdmin;
  readonly settings: SettingsAdmin;
  readonly console: ConsoleAdmin;
  readonly tokens: TokenAdmin;
  installFile(name: InstallFile, withContent: boolean): ReturnType<typeof openInstallFile>;
  /** Counts downloads of the archive by address. */
  readonly archiveLimiter: Limiter;
  /**
   * Starts and ends console sessions (apps on a host's own display) until the returned object is closed. Close it
   * before the sessions feature.
   */
  startConsoles(sessions: ConsoleSessions): { close(): Promise<void> };
  /** Authenticates agents' HTTP calls. The server answers every null with the same 401. */
  readonly authenticateNode: AuthenticateNode;
  /** Number of hosts by status; a status without hosts is missing. */
  count(): Promise<ReadonlyMap<string, number>>;
  /** Number of encode slots of online hosts. */
  countSlots(): Promise<{ total: number; used: number }>;
  /** Call this after the migrations and before the first socket. */
  start(): Promise<void>;
  /**
   * Closes the links so that the agents reconnect, and writes pending values. With other replicas it first lets their
   * launches on these hosts send their commands. Call this before the server and the database are closed.
   */
  close(): Promise<void>;
}

/** Call `links.setHandlers` before the first agent connects. */
export function createFleet(platform: Platform, deps: FleetDeps): FleetService {
  const agents = new Agents(platform);
  const links = new AgentLinks(platform);
  const presence = platform.config.bus === null ? null : new FleetPresence(platform, agents);
  const handover =
    platform.config.bus === null
      ? null
      : new Handover(platform, databaseAnswers(platform.database), () => links.sendAway());
  const checkSecret = nodeSecretCheck(platform);
  const limits = new CredentialLimits(deps.credentialLimits);
  return {
    agents,
    links,
    presence: presence ?? links,
    authentication: new AgentAuthentication(platform, {
      limits,
      names: links,
      checkSecret,
      maxHandshakes: deps.maxHandshakes,
      sendsHostsAway: () => handover?.isActive ?? false,
    }),
    hosts: new HostAdmin(platform, agents, links),
    settings: new SettingsAdmin(platform, agents, links),
    console: new ConsoleAdmin(platform),
    tokens: new TokenAdmin(platform, deps.certificate),
    installFile: (name, withContent) =>
      openInstallFile(deps.installDir ?? AGENT_INSTALL_FILES, name, withContent, deps.socketClock),
    archiveLimiter: createWindowLimiter(ARCHIVE_LIMIT, platform.clock),
    authenticateNode: (headers) => authenticateNode(checkSecret, headers),
    count: () => countHosts(platform.database.db),
    countSlots: () => countSlots(platform.database.db),
    async start() {
      await links.start();
      handover?.start();
      presence?.start();
    },
    startConsoles: (sessions) => new ConsoleStarter(platform, agents, links, sessions),
    async close() {
      handover?.close();
      presence?.close();
      if (platform.config.bus !== null && links.leave()) await delay(deps.socketClock, LAST_COMMANDS_MS);
      await links.close();
    },
  };
}
