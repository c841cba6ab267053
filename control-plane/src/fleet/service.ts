import { systemClock } from '@footlight/platform';
import { AGENT_INSTALL_FILES } from '../install-location.ts';
import { createWindowLimiter, type Limiter } from '../platform/limits.ts';
import type { Platform } from '../platform/platform.ts';
import { ConsoleAdmin } from './console/admin.ts';
import { type ConsoleSessions, ConsoleStarter } from './console/starter.ts';
import { TokenAdmin } from './enrollment/token-admin.ts';
import { HostAdmin } from './hosts/host-admin.ts';
import type { PinnedCertificate } from './install/install-command.ts';
import { ARCHIVE_LIMIT, type InstallFile, openInstallFile } from './install/install-files.ts';
import { AgentLinks } from './links.ts';
import { SettingsAdmin } from './settings/settings-admin.ts';
import { AgentAdmission } from './upgrade/agent-upgrade.ts';
import { authenticateNode, type NodeCaller, nodeSecretCheck } from './upgrade/credentials.ts';
import { type CredentialLimitOptions, CredentialLimits } from './upgrade/limits.ts';

export interface FleetDeps {
  /** Raised by tests that present many wrong credentials. */
  credentialLimits?: CredentialLimitOptions;
  /** Hosts that may wait for their registration at once; lowered by tests. */
  maxHandshakes?: number;
  /** The certificate that this service answers with; left out or null: it offers no TLS. */
  certificate?: PinnedCertificate | null;
  /** Folder of what new hosts fetch; it need not be there. */
  installDir?: string;
}

/** Hosts and their agents. `links` is what other features talk to. */
export interface FleetService {
  readonly links: AgentLinks;
  readonly admission: AgentAdmission;
  readonly hosts: HostAdmin;
  readonly settings: SettingsAdmin;
  readonly console: ConsoleAdmin;
  readonly tokens: TokenAdmin;
  installFile(name: InstallFile, withContent: boolean): ReturnType<typeof openInstallFile>;
  /** Takes one download of the archive by an address, or refuses it. */
  readonly archiveLimiter: Limiter;
  /** Starts what displays beside hosts show, until it is closed: before the sessions are. */
  startConsoles(sessions: ConsoleSessions): { close(): Promise<void> };
  /** For agents' HTTP calls: null is answered by one indistinguishable 401. */
  authenticateNode(headers: Record<string, string | string[] | undefined>): Promise<NodeCaller | null>;
  /** After the migrations and before the first socket. */
  start(): Promise<void>;
  /** Tells the agents to come back, and writes what waits. Before the server and the database close. */
  close(): Promise<void>;
}

/** `links.setHandlers` must have been called before the first agent connects. */
export function createFleet(platform: Platform, deps: FleetDeps = {}): FleetService {
  const links = new AgentLinks(platform);
  const checkSecret = nodeSecretCheck(platform);
  const limits = new CredentialLimits(deps.credentialLimits);
  return {
    links,
    admission: new AgentAdmission(platform, {
      limits,
      names: links,
      checkSecret,
      maxHandshakes: deps.maxHandshakes,
    }),
    hosts: new HostAdmin(platform, links),
    settings: new SettingsAdmin(platform, links),
    console: new ConsoleAdmin(platform, links),
    tokens: new TokenAdmin(platform, deps.certificate ?? null),
    installFile: (name, withContent) =>
      // This is about real sockets, whatever time the service lives in.
      openInstallFile(deps.installDir ?? AGENT_INSTALL_FILES, name, withContent, systemClock),
    archiveLimiter: createWindowLimiter(ARCHIVE_LIMIT, platform.clock),
    authenticateNode: (headers) => authenticateNode(checkSecret, headers),
    start: () => links.start(),
    startConsoles: (sessions) => new ConsoleStarter(platform, links, sessions),
    close: () => links.close(),
  };
}
