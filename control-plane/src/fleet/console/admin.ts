import type { ConsoleCapabilities, ConsoleConfig } from '@footlight/protocol/agent';
import { type ConsolePatch, consoleDefaults, type HostConsole } from '@footlight/protocol/rest';
import { findAccount } from '../../accounts/index.ts';
import { findApp } from '../../catalog/index.ts';
import { fromJson, toJson } from '../../platform/database/codec.ts';
import type { HostsTable } from '../../platform/database/tables/fleet.ts';
import { invalid } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { requireHost } from '../hosts/host-admin.ts';
import { hostById, lockHost, updateHost } from '../hosts/host-store.ts';
import { hostSubjects } from '../subjects.ts';
import { changeConsole, changedKeys, consoleProblem, NO_CAPABILITIES } from './config.ts';

/** Reads and changes the console configuration of hosts. */
export class ConsoleAdmin {
  readonly #platform: Platform;

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  /** @throws ApiError 404 */
  async read(id: string): Promise<HostConsole> {
    return consoleOf(requireHost(await hostById(this.#platform.database.db, id)));
  }

  /**
   * Stores the change, then sends it to the agent. If the change is refused, nothing is stored or sent.
   * @throws ApiError 404; 400 for an invalid combination, or for a display, app or account that does not exist
   */
  async update(id: string, patch: ConsolePatch, actorUserId: string): Promise<HostConsole> {
    const { activity, bus, database } = this.#platform;
    const { after, keys } = await database.transaction(async (tx) => {
      const host = requireHost(await lockHost(tx, id));
      const { config: before, capabilities } = consoleOf(host);
      const config = changeConsole(before, patch);
      const problem = consoleProblem(config, patch, capabilities);
      if (problem !== null) throw invalid(problem);
      if (typeof patch.default_app === 'string' && (await findApp(tx, patch.default_app)) === null)
        throw invalid('default_app: there is no such app.');
      if (typeof patch.default_user === 'string' && (await findAccount(tx, patch.default_user)) === undefined)
        throw invalid('default_user: there is no such account.');
      const keys = changedKeys(before, config);
      const console_config = toJson(config);
      if (keys.length > 0) await updateHost(tx, id, { console_config });
      return { after: { ...host, console_config }, keys };
    });
    if (keys.length > 0) {
      bus.publish(hostSubjects.changed, id, { what: 'configured' });
      await activity.record(actorUserId, 'console.config.update', id, { keys });
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
