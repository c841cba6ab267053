import { SECOND_MS, within } from '@footlight/platform';
import type { FleetSummary, Gpu, Host, HostGpus, HostLoad, HostOrder, Query } from '@footlight/protocol/rest';
import { bool, flag } from '../../platform/database/codec.ts';
import { lockForRemoval } from '../../platform/database/index.ts';
import type { HostsTable } from '../../platform/database/tables/fleet.ts';
import { ApiError } from '../../platform/errors.ts';
import { nextOffset, readOffset } from '../../platform/offset-cursor.ts';
import { pageOf, readCursor } from '../../platform/page-cursor.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Agents } from '../agents.ts';
import type { AgentLinks } from '../links.ts';
import { hostSubjects } from '../subjects.ts';
import {
  countHosts,
  countSlots,
  deleteHost,
  gpusOf,
  hostById,
  type ListedHost,
  listHosts,
  listHostsBy,
  lockHost,
  reportedGpus,
  updateHost,
} from './host-store.ts';
import { gpuView, hostCapacity, hostView } from './host-view.ts';
import { requireRestartConfirmed, restartAgent } from './restart.ts';
import { decideHostStatus, type HostInput } from './status.ts';

const DRAIN_LIMITS = { parallel: 8, budgetMs: 8 * SECOND_MS } as const;

type HostQuery = Query<'hosts.list'>;

/** Operations of administrators on hosts. */
export class HostAdmin {
  readonly #platform: Platform;
  readonly #agents: Agents;
  readonly #links: Pick<AgentLinks, 'handlers'>;

  constructor(platform: Platform, agents: Agents, links: Pick<AgentLinks, 'handlers'>) {
    this.#platform = platform;
    this.#agents = agents;
    this.#links = links;
  }

  /**
   * Hosts in the order of `sort`; undefined: newest first.
   * @param query.cursor next_cursor of the previous page in the same order
   * @throws ApiError 400 for an unreadable cursor
   */
  async list(query: HostQuery): Promise<{ items: Host[]; next_cursor: string | null }> {
    const { rows, next_cursor } = await this.#page(query);
    return { items: await this.#views(rows), next_cursor };
  }

  /** Counts for the overview. */
  async summary(): Promise<FleetSummary> {
    const { db } = this.#platform.database;
    const [hosts, slots] = await Promise.all([countHosts(db), countSlots(db)]);
    const count = (status: HostsTable['status']) => hosts.get(status) ?? 0;
    return {
      hosts: { online: count('online'), draining: count('draining'), offline: count('offline') },
      slots,
    };
  }

  /** @throws ApiError 404 */
  async read(id: string): Promise<Host> {
    const [view] = await this.#views([requireHost(await hostById(this.#platform.database.db, id))]);
    return view!;
  }

  /** The host's GPUs, sorted by index; empty while the capacity detection is not ok. @throws ApiError 404 */
  async gpus(id: string): Promise<Gpu[]> {
    const { db } = this.#platform.database;
    const host = requireHost(await hostById(db, id));
    if (host.capacity_detection !== 'ok') return [];
    const loads = await this.#links.handlers.loads([id]);
    return (await gpusOf(db, [id])).filter((gpu) => bool(gpu.reported)).map((gpu) => gpuView(gpu, loads));
  }

  /**
   * The GPUs of each host, with the parameters and in the order of list().
   * @throws ApiError 400 for an unreadable cursor
   */
  async listGpus(query: HostQuery): Promise<{ items: HostGpus[]; next_cursor: string | null }> {
    const { db } = this.#platform.database;
    const { rows, next_cursor } = await this.#page(query);
    const ids = rows.filter((host) => host.capacity_detection === 'ok').map(({ id }) => id);
    const [gpus, loads] = await Promise.all([reportedGpus(db, ids), this.#links.handlers.loads(ids)]);
    const gpusByHost = byHost(gpus);
    const loadsByHost = byHost(loads);
    const items = rows.map(({ id }) => ({
      host_id: id,
      gpus: (gpusByHost.get(id) ?? []).map((gpu) => gpuView(gpu, loadsByHost.get(id) ?? [])),
    }));
    return { items, next_cursor };
  }

  /** Load samples of a host's last hour. @throws ApiError 404; 503 when the replica with its link does not answer */
  async load(id: string): Promise<HostLoad> {
    requireHost(await hostById(this.#platform.database.db, id));
    return { host_id: id, samples: await this.#agents.load(id) };
  }

  /**
   * Stops new placements. With force, sends a stop to the host's sessions and waits some seconds; failures are ignored.
   * @throws ApiError 404
   */
  async drain(id: string, force: boolean, actorUserId: string): Promise<Host> {
    await this.#move(id, 'drain');
    if (force) await this.#stopSessions(id);
    await this.#platform.activity.record(actorUserId, 'host.drain', id, { force });
    return this.read(id);
  }

  /** @throws ApiError 404 */
  async uncordon(id: string, actorUserId: string): Promise<Host> {
    const host = await this.#move(id, 'uncordon');
    this.#platform.bus.publish(hostSubjects.changed, id, { what: 'uncordoned' });
    await this.#platform.activity.record(actorUserId, 'host.uncordon', id, { node_name: host.node_name });
    return this.read(id);
  }

  /**
   * Deletes a host with its GPUs and ended sessions. Its home records then refer to no host; their files stay on the
   * machine.
   * @throws ApiError 404; 409 while its agent is connected, while it is not offline, or while it has live sessions
   */
  async delete(id: string, actorUserId: string): Promise<void> {
    const { bus, database } = this.#platform;
    const isConnected = (await this.#agents.link(id)) !== null;
    const { host, homes } = await database.transaction(async (tx) => {
      const host = requireHost(await lockHost(tx, id));
      if (isConnected || host.status !== 'offline') {
        throw new ApiError('conflict', { message: 'The host is connected; stop its agent first.' });
      }
      // The lock waits for a concurrent launch on one of the host's GPUs, so the check below sees its session.
      await lockForRemoval(tx, 'hosts', [id]);
      if ((await this.#links.handlers.countLiveSessions(tx, id)) > 0) {
        throw new ApiError('conflict', { message: 'Sessions are still on this host.' });
      }
      const { homes } = await this.#links.handlers.forgetHost(tx, id);
      await deleteHost(tx, id);
      return { host, homes };
    });
    bus.publish(hostSubjects.changed, id, { what: 'deleted' });
    await this.#platform.activity.record(actorUserId, 'host.delete', id, {
      node_name: host.node_name,
      homes,
    });
  }

  /**
   * Restarts the agent, which ends its sessions.
   * @throws ApiError 404; 409 for a host that is offline or does not accept the message; 409 restart_required for a
   *   host with sessions
   */
  async restart(id: string, confirmed: boolean, actorUserId: string): Promise<void> {
    const { database } = this.#platform;
    const isConnected = (await this.#agents.link(id)) !== null;
    const live = await database.transaction(async (tx) => {
      const host = requireHost(await hostById(tx, id));
      if (host.status === 'offline' || !isConnected) {
        throw new ApiError('conflict', { message: `${host.node_name} is offline.` });
      }
      const live = await this.#links.handlers.countReservingSessions(tx, id);
      requireRestartConfirmed(live, confirmed);
      return live;
    });
    if (!(await restartAgent(this.#platform, this.#agents, id))) {
      throw new ApiError('conflict', { message: 'The agent did not take the message.' });
    }
    await this.#platform.activity.record(actorUserId, 'host.restart', id, { confirmed, live_sessions: live });
  }

  async #move(id: string, input: Extract<HostInput, 'drain' | 'uncordon'>): Promise<HostsTable> {
    const { database } = this.#platform;
    return database.transaction(async (tx) => {
      const host = requireHost(await lockHost(tx, id));
      const to = decideHostStatus({ status: host.status, drainIntent: bool(host.drain_intent) }, input);
      await updateHost(tx, id, { status: to.status, drain_intent: flag(to.drainIntent) });
      return host;
    });
  }

  async #page({
    limit,
    cursor,
    sort,
    ...filter
  }: HostQuery): Promise<{ rows: ListedHost[]; next_cursor: string | null }> {
    const { db } = this.#platform.database;
    if (sort === undefined) return pageOf(await listHosts(db, limit, readCursor(cursor), filter), limit);
    const reverse = sort.startsWith('-');
    const order = (reverse ? sort.slice(1) : sort) as HostOrder;
    const page = { offset: readOffset(cursor), limit };
    const rows = await listHostsBy(db, { order, reverse }, page, filter);
    return { rows: rows.slice(0, limit), next_cursor: nextOffset(page, rows.length) };
  }

  async #stopSessions(id: string): Promise<void> {
    const { clock, logger } = this.#platform;
    const stopped = this.#links.handlers
      .stopSessionsOfHost(id, 'host_draining', DRAIN_LIMITS)
      .catch((error: unknown) => logger.warn({ err: error, host_id: id }, 'drain.stop_failed'));
    await within(clock, DRAIN_LIMITS.budgetMs, stopped, undefined);
  }

  async #views(hosts: readonly ListedHost[]): Promise<Host[]> {
    if (hosts.length === 0) return [];
    const { clock, config, database } = this.#platform;
    const ids = hosts.map((host) => host.id);
    const gpus = await reportedGpus(database.db, ids);
    const loads = await this.#links.handlers.loads(ids);
    const gpusByHost = new Map<string, typeof gpus>();
    for (const gpu of gpus) {
      const list = gpusByHost.get(gpu.host_id);
      if (list === undefined) gpusByHost.set(gpu.host_id, [gpu]);
      else list.push(gpu);
    }
    const staleAfterMs = config.sessions.vramStalenessSecs * SECOND_MS;
    return hosts.map((host) =>
      hostView(host, hostCapacity(host, gpusByHost.get(host.id) ?? [], loads, clock.nowMs(), staleAfterMs)),
    );
  }
}

/** @throws ApiError 404 for an unknown host */
export function requireHost(host: HostsTable | undefined): HostsTable {
  if (host === undefined) throw new ApiError('not_found', { message: 'There is no such host.' });
  return host;
}

function byHost<Row extends { host_id: string }>(rows: readonly Row[]): Map<string, Row[]> {
  const grouped = new Map<string, Row[]>();
  for (const row of rows) {
    const known = grouped.get(row.host_id);
    if (known === undefined) grouped.set(row.host_id, [row]);
    else known.push(row);
  }
  return grouped;
}
