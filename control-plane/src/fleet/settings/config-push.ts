import { SECOND_MS } from '@footlight/platform';
import type { ConsoleConfig } from '@footlight/protocol/agent';
import { fromJson } from '../../platform/database/index.ts';
import type { HostsTable } from '../../platform/database/tables/fleet.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Fleet } from '../fleet.ts';
import { hostById } from '../hosts/host-store.ts';

const ACK_MS = 10 * SECOND_MS;

type Configured = Pick<HostsTable, 'id' | 'settings_overrides' | 'console_config'>;

/**
 * Sends hosts what administrators set for them, whole each time. Pushes to one host take turns and each sends what is
 * stored when its turn comes, so that the last one sent is never older than the last one saved.
 */
export class ConfigPush {
  readonly #platform: Pick<Platform, 'database' | 'logger'>;
  readonly #fleet: Pick<Fleet, 'command' | 'isConnected'>;
  /** The last push of a host that is under way. */
  readonly #turns = new Map<string, Promise<void>>();
  /** Hosts for which something was saved while they were away, perhaps in the middle of a registration. */
  readonly #missed = new Set<string>();

  constructor(
    platform: Pick<Platform, 'database' | 'logger'>,
    fleet: Pick<Fleet, 'command' | 'isConnected'>,
  ) {
    this.#platform = platform;
    this.#fleet = fleet;
  }

  /** Resolves once it is sent, not once it is taken. Never rejects: the next registration sends it again. */
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

  /** The host's agent was just told that it is registered. @param host its record as the registration left it */
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
          this.#platform.logger.warn({ host_id: host.id, result: result.kind }, 'config.update_not_taken');
      });
  }
}
