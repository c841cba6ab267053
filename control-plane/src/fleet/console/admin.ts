import type { ConsoleCapabilities, ConsoleConfig } from '@footlight/protocol/agent';
import { type ConsolePatch, consoleDefaults, type HostConsole } from '@footlight/protocol/rest';
import { fromJson, toJson } from '../../platform/database/codec.ts';
import type { HostsTable } from '../../platform/database/tables/fleet.ts';
import { invalid } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { found } from '../hosts/host-admin.ts';
import { hostById, lockHost, updateHost } from '../hosts/host-store.ts';
import type { AgentLinks } from '../links.ts';
import { changeConsole, changedKeys, consoleProblem, NO_CAPABILITIES } from './config.ts';
import { appExists, userExists } from './store.ts';

/** Reads and changes the console configuration of hosts. */
export class ConsoleAdmin {
  readonly #platform: Platform;
  readonly #links: AgentLinks;

  constructor(platform: Platform, links: AgentLinks) {
    this.#platform = platform;
    this.#links = links;
  }

  /** @throws ApiError 404 */
  async read(id: string): Promise<HostConsole> {
    return consoleOf(found(await hostById(this.#platform.database.db, id)));
  }

  /**
   * Stores the change and tells the agent, or does neither.
   * @throws ApiError 404; 400 for an invalid combination, or for a display, app or account that does not exist
   */
  async update(id: string, patch: ConsolePatch, actorUserId: string): Promise<HostConsole> {
    const { activity, database } = this.#platform;
    const { after, keys } = await database.transaction(async (tx) => {
      const host = found(await lockHost(tx, id));
      const { config: before, capabilities } = consoleOf(host);
      const config = changeConsole(before, patch);
      const problem = consoleProblem(config, patch, capabilities);
      if (problem !== null) throw invalid(problem);
      if (typeof patch.default_app === 'string' && !(await appExists(tx, patch.default_app)))
        throw invalid('default_app: there is no such app.');
      if (typeof patch.default_user === 'string' && !(await userExists(tx, patch.default_user)))
        throw invalid('default_user: there is no such account.');
      const keys = changedKeys(before, config);
      const console_config = toJson(config);
      if (keys.length > 0) await updateHost(tx, id, { console_config });
      return { after: { ...host, console_config }, keys };
    });
    if (keys.length > 0) {
      await this.#links.pushConfig(id);
      await activity.record({
        actorUserId,
        action: 'console.config.update',
        targetType: 'host',
        targetId: id,
        details: { keys },
      });
    }
    return consoleOf(after);
  }
}

function consoleOf(host: Pick<HostsTable, 'console_config' | 'console_capabilities'>): HostConsole {
  const { console_config, console_capabilities } = host;
  return {
    config: console_config === null ? consoleDefaults : fromJson<ConsoleConfig>(console_config),
    capabilities:
      console_capabilities === null ? NO_CAPABILITIES : fromJson<ConsoleCapabilities>(console_capabilities),
  };
}
