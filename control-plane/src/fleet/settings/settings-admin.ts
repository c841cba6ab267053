import type { Codec } from '@footlight/protocol';
import type { ChangedHostSettings, HostSettings, HostStorage } from '@footlight/protocol/rest';
import { bool, fromJson, toJson } from '../../platform/database/codec.ts';
import type { HostsTable } from '../../platform/database/tables/fleet.ts';
import { ApiError, invalid } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Agents } from '../agents.ts';
import { requireHost } from '../hosts/host-admin.ts';
import { hostById, lockHost, updateHost } from '../hosts/host-store.ts';
import { requireRestartConfirmed, restartAgent } from '../hosts/restart.ts';
import type { AgentLinks } from '../links.ts';
import { hostSubjects } from '../subjects.ts';
import { changeOverrides, resolveSettings, type SettingValues, settingsProblem } from './host-settings.ts';

/** Reads and changes the settings of one host. */
export class SettingsAdmin {
  readonly #platform: Platform;
  readonly #agents: Agents;
  readonly #links: Pick<AgentLinks, 'handlers'>;

  constructor(platform: Platform, agents: Agents, links: Pick<AgentLinks, 'handlers'>) {
    this.#platform = platform;
    this.#agents = agents;
    this.#links = links;
  }

  /** @throws ApiError 404 */
  async read(id: string): Promise<HostSettings> {
    const host = requireHost(await hostById(this.#platform.database.db, id));
    return {
      ...settingsOf(host),
      codecs: host.codecs === null ? null : fromJson<Codec[]>(host.codecs),
      pending_restart: bool(host.pending_restart),
    };
  }

  /**
   * Stores overrides and sends them to the agent. Restarts the agent if an override requires it.
   * @param sent validated values; null removes an override
   * @throws ApiError 404; 400 for an invalid combination; 409 restart_required; 409 conflict when the overrides are
   *   stored but the agent does not accept the restart
   */
  async update(
    id: string,
    sent: SettingValues,
    restartConfirmed: boolean,
    actorUserId: string,
  ): Promise<ChangedHostSettings> {
    const { activity, bus, database } = this.#platform;
    const { host, change } = await database.transaction(async (tx) => {
      const host = requireHost(await lockHost(tx, id));
      const change = changeOverrides(fromJson<SettingValues>(host.settings_overrides), sent);
      const storage = host.storage === null ? null : fromJson<HostStorage[]>(host.storage);
      const problem = settingsProblem(change.overrides, sent, storage);
      if (problem !== null) throw invalid(problem);
      if (change.needsRestart) {
        const live = await this.#links.handlers.countReservingSessions(tx, id);
        requireRestartConfirmed(live, restartConfirmed);
      }
      const settings_overrides = toJson(change.overrides);
      if (change.changed.length > 0) await updateHost(tx, id, { settings_overrides });
      return { host: { ...host, settings_overrides }, change };
    });
    let restart_triggered = false;
    if (change.changed.length > 0) {
      bus.publish(hostSubjects.changed, id, { what: 'configured' });
      if (change.needsRestart) restart_triggered = await restartAgent(this.#platform, this.#agents, id);
      await activity.record(actorUserId, 'host.settings.update', id, {
        keys: change.changed,
        restart_triggered,
      });
    }
    if (change.needsRestart && !restart_triggered) {
      throw new ApiError('conflict', {
        message:
          'The settings are saved, but the agent could not be told to restart. They count once it was restarted after it has connected again.',
      });
    }
    return { ...settingsOf(host), restart_triggered };
  }
}

function settingsOf(host: HostsTable): Pick<HostSettings, 'resolved' | 'overrides' | 'effective'> {
  const overrides = fromJson<SettingValues>(host.settings_overrides);
  return {
    resolved: resolveSettings(overrides),
    overrides: { ...overrides },
    effective:
      host.effective_settings === null ? null : fromJson<Record<string, string>>(host.effective_settings),
  };
}
