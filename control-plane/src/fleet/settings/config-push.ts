import { SECOND_MS } from '@footlight/platform';
import type { ConsoleConfig } from '@footlight/protocol/agent';
import { fromJson } from '../../platform/database/index.ts';
import type { HostsTable } from '../../platform/database/tables/fleet.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Fleet } from '../fleet.ts';
import { hostById } from '../hosts/host-store.ts';
import type { HostLog } from '../link/host-log.ts';

const ACK_MS = 10 * SECOND_MS;

type Configured = Pick<HostsTable, 'id' | 'settings_overrides' | 'console_config'>;

/**
 * Sends complete configurations to hosts. Pushes to one host are serialized, and each sends what is stored at its
 * turn, so the last push is never older than the last save.
 */
export class ConfigPush {
  readonly #platform: Pick<Platform, 'database' | 'logger'>;
  readonly #hostLog: HostLog;
  readonly #fleet: Pick<Fleet, 'command' | 'isConnected'>;
  /** Running push of each host. */
  readonly #turns = new Map<string, Promise<void>>();
  /** Hosts with a change that was saved while they were offline or registering. */
  readonly #missed = new Set<string>();

  constructor(
    platform: Pick<Platform, 'database' | 'logger'>,
    hostLog: HostLog,
    fleet: Pick<Fleet, 'command' | 'isConnected'>,
  ) {
    this.#platform = platform;
    this.#hostLog = hostLog;
    this.#fleet = fleet;
  }

  /** Resolves when the configuration is sent. Never rejects: the next registration sends it again. */
  push(hostId: string): Promise<void> {
    if (!this.#fleet.isConnected(hostId)) {
      this.#missed.add(hostId);
      return Promise.resolve();
    }
    const turn = (this.#turns.get(hostId) ?? Promise.resolve())
      .then(async () => {
        const host = await hostById(this.#platform.database.db, hostId);
        if (host !== undefined) this.#send(host);
      })
      .catch((error: unknown) =>
        this.#platform.logger.error({ err: error, host_id: hostId }, 'config.not_pushed'),
      )
      .finally(() => {
        if (this.#turns.get(hostId) === turn) this.#turns.delete(hostId);
      });
    this.#turns.set(hostId, turn);
    return turn;
  }

  /** Call after `registered` was sent. @param host the record after the registration */
  registered(host: Configured): void {
    this.#send(host);
    // The record may have changed between the registration's commit and now.
    if (this.#missed.delete(host.id)) void this.push(host.id);
  }

  forget(hostId: string): void {
    this.#missed.delete(hostId);
  }

  #send(host: Configured): void {
    const console_config = host.console_config === null ? null : fromJson<ConsoleConfig>(host.console_config);
    const settings = fromJson<Record<string, unknown>>(host.settings_overrides);
    void this.#fleet
      .command(host.id, { type: 'config_update', settings, console_config }, ACK_MS)
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
