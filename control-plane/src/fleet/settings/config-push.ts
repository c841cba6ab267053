import type { ConsoleConfig } from '@footlight/protocol/agent';
import { fromJson } from '../../platform/database/index.ts';
import type { HostsTable } from '../../platform/database/tables/fleet.ts';
import type { Platform } from '../../platform/platform.ts';
import { COMMAND_LIMITS_MS } from '../agents.ts';
import { hostById } from '../hosts/host-store.ts';
import type { HostLog } from '../link/host-log.ts';
import type { AgentLink } from '../link/link.ts';

type Configured = Pick<HostsTable, 'id' | 'settings_overrides' | 'console_config'>;

/**
 * Sends complete configurations to hosts. Pushes to one host are serialized, and each push sends the configuration that
 * is stored when it starts, so the last push is never older than the last save.
 */
export class ConfigPush {
  readonly #platform: Pick<Platform, 'database' | 'logger' | 'random'>;
  readonly #hostLog: HostLog;
  readonly #linkOf: (hostId: string) => Pick<AgentLink, 'command'> | null;
  /** Running push of each host. */
  readonly #pushes = new Map<string, Promise<void>>();
  /** Hosts whose configuration was changed while they were offline or registering. */
  readonly #missed = new Set<string>();

  /** @param linkOf returns the link of a host in this process; only the process with the link sends configurations */
  constructor(
    platform: Pick<Platform, 'database' | 'logger' | 'random'>,
    hostLog: HostLog,
    linkOf: (hostId: string) => Pick<AgentLink, 'command'> | null,
  ) {
    this.#platform = platform;
    this.#hostLog = hostLog;
    this.#linkOf = linkOf;
  }

  /** Sends the stored configuration now; an offline host receives the configuration at its next registration. */
  push(hostId: string): void {
    if (this.#linkOf(hostId) === null) {
      this.#missed.add(hostId);
      return;
    }
    const push = (this.#pushes.get(hostId) ?? Promise.resolve())
      .then(async () => {
        const host = await hostById(this.#platform.database.db, hostId);
        if (host !== undefined) this.#send(host);
      })
      .catch((error: unknown) =>
        this.#platform.logger.error({ err: error, host_id: hostId }, 'config.not_pushed'),
      )
      .finally(() => {
        if (this.#pushes.get(hostId) === push) this.#pushes.delete(hostId);
      });
    this.#pushes.set(hostId, push);
  }

  /** Resolves when the saved configuration is sent; never rejects. */
  async pushed(hostId: string): Promise<void> {
    await this.#pushes.get(hostId);
  }

  /** Call this after `registered` was sent. @param host the record after the registration */
  registered(host: Configured): void {
    this.#send(host);
    // The record may have changed between the registration's commit and now.
    if (this.#missed.delete(host.id)) this.push(host.id);
  }

  forget(hostId: string): void {
    this.#missed.delete(hostId);
  }

  #send(host: Configured): void {
    const console_config = host.console_config === null ? null : fromJson<ConsoleConfig>(host.console_config);
    const settings = fromJson<Record<string, unknown>>(host.settings_overrides);
    const id = this.#platform.random.uuid();
    const command = { type: 'config_update' as const, id, settings, console_config };
    void this.#linkOf(host.id)
      ?.command(command, COMMAND_LIMITS_MS.config_update)
      .then((result) => {
        if (result.kind !== 'ok')
          this.#hostLog.line(
            'warn',
            host.id,
            { host_id: host.id, result: result.kind },
            'config.update_not_taken',
          );
      });
  }
}
