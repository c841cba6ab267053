import {
  type Clock,
  createLogger,
  delay,
  type Logger,
  type Random,
  systemClock,
  systemRandom,
} from '@footlight/platform';
import { type AccountsDeps, createAccounts, registerAccountsRoutes } from './accounts/index.ts';
import { createActivity, registerActivityRoutes, registerSealing } from './activity/index.ts';
import { type Artwork, type ArtworkDeps, createArtwork, registerArtworkRoutes } from './artwork/index.ts';
import {
  createBackupFolder,
  createBackups,
  createMigrationBackup,
  registerBackupRoutes,
} from './backups/index.ts';
import { type Catalog, createCatalog, registerCatalogRoutes } from './catalog/index.ts';
import { createCertification, registerCertificationRoutes } from './certification/index.ts';
import { registerDeletionRoutes } from './deletions/index.ts';
import {
  createDiscovery,
  type Discovery,
  type DiscoveryDeps,
  registerDiscoveryRoutes,
} from './discovery/index.ts';
import { createFleet, type FleetDeps, type FleetService, registerFleetRoutes } from './fleet/index.ts';
import { createImages, type Images, registerImagesRoutes } from './images/index.ts';
import { RELEASE } from './install-location.ts';
import { createJobs, type JobsService, registerJobsRoutes } from './jobs/index.ts';
import { createMetrics, createMetricsListener, measuredBus, measuredLaunches } from './metrics/index.ts';
import { AcmeOrders } from './platform/acme.ts';
import type { Bus } from './platform/bus/bus.ts';
import { createInProcessBus } from './platform/bus/in-process.ts';
import type { Config } from './platform/config/config.ts';
import { openDatabase } from './platform/database/index.ts';
import type { Addresses, ListenerLimits } from './platform/http/connection/listeners.ts';
import { registerHealth } from './platform/http/health.ts';
import { registerPages } from './platform/http/pages.ts';
import { createServer, type Server } from './platform/http/server.ts';
import { createLeader } from './platform/leader.ts';
import { NO_METERS } from './platform/meters.ts';
import type { Platform } from './platform/platform.ts';
import { PeriodicWriter } from './platform/queues/periodic-writer.ts';
import { WriteBatch } from './platform/queues/write-batch.ts';
import { loadCertificate, pairPaths } from './platform/tls.ts';
import { ReloadedCertificate } from './platform/tls-reload.ts';
import { createPreflights, registerPreflightRoutes } from './preflight/index.ts';
import { createProfiles, registerProfilesRoutes } from './profiles/index.ts';
import { createRecordings, registerRecordingsRoutes } from './recordings/index.ts';
import { registerReference } from './reference/index.ts';
import {
  createSessionGate,
  createSessions,
  registerGuestRoutes,
  registerSessionsRoutes,
  registerVerdictRoutes,
  type Sessions,
} from './sessions/index.ts';
import { createSecrets, createSettings, registerSettingsRoutes } from './settings/index.ts';
import { createSignaling, createSignalingTokens, registerSignalingRoutes } from './signaling/index.ts';
import { createStorage, registerStorageRoutes } from './storage/index.ts';
import {
  createTelemetry,
  registerTelemetryRoutes,
  registerViewerReportRoutes,
  type Telemetry,
} from './telemetry/index.ts';
import { createOtlpTraces } from './traces/index.ts';
import { createWebhook, deleteOldEvents, registerWebhookRoutes } from './webhook/index.ts';

/** Tests replace the machine's dependencies and raise limits with these fields. */
export interface Overrides {
  clock?: Clock;
  random?: Random;
  logger?: Logger;
  accountLimits?: NonNullable<AccountsDeps['limits']>;
  credentialLimits?: NonNullable<FleetDeps['credentialLimits']>;
  installDir?: string;
  listenerLimits?: Partial<ListenerLimits>;
  artwork?: Omit<ArtworkDeps, 'secrets'>;
  discovery?: Partial<Omit<DiscoveryDeps, 'settings'>>;
}

/** metrics: address of the metrics page; null: no metrics page is served. */
export type ListeningAddresses = Addresses & { metrics: string | null };

/** The composed control plane, ready to listen. */
export interface ControlPlane {
  readonly platform: Platform;
  readonly server: Server;
  readonly catalog: Catalog;
  readonly artwork: Artwork;
  readonly discovery: Discovery;
  readonly fleet: FleetService;
  readonly images: Images;
  readonly sessions: Sessions;
  readonly telemetry: Telemetry;
  readonly jobs: JobsService;
  /** @throws with a sentence when an address cannot be bound */
  listen(): Promise<ListeningAddresses>;
  /** Reads the operator's certificate again. Does nothing if there is none. Never rejects. */
  reloadCertificate(): Promise<void>;
  /** Injects a request without the network. */
  readonly inject: Server['fastify']['inject'];
  /**
   * Lets /health/ready fail, closes each connection after its answer, and waits for load balancers to see it
   * (SERVICE_DRAIN_SECS). All work continues meanwhile. The caller then calls close().
   */
  drain(): Promise<void>;
  /**
   * Closes sockets with 1012 (try again later), finishes requests and background work, closes the database.
   * Idempotent.
   */
  close(): Promise<void>;
}

/**
 * Builds the service: opens and migrates the database, stores the initial values, and ensures that an administrator
 * exists or can be created. It does not listen yet.
 * @throws with a sentence for the operator, after closing all opened resources
 */
export async function buildControlPlane(config: Config, overrides: Overrides = {}): Promise<ControlPlane> {
  const clock = overrides.clock ?? systemClock;
  const random = overrides.random ?? systemRandom;
  const logger = overrides.logger ?? createLogger(config.logLevel);
  // Opened resources; closed in reverse order.
  const opened: (() => Promise<void> | void)[] = [];
  let closing: Promise<void> | null = null;
  const close = () => {
    closing ??= closeAll(opened, logger);
    return closing;
  };

  try {
    const firstCertificate = config.tls ? await loadCertificate(config.tls, { clock, random, logger }) : null;
    const reloaded =
      firstCertificate && (config.tls?.provided || config.tls?.acme)
        ? new ReloadedCertificate(firstCertificate, pairPaths(config.tls), { clock, logger })
        : null;
    const orders =
      reloaded && config.tls?.acme
        ? new AcmeOrders(config.tls.acme, pairPaths(config.tls), reloaded, { clock, random, logger })
        : null;
    const certificate = () => {
      const pair = reloaded?.current ?? firstCertificate;
      const orderProblem = orders?.problem;
      return pair && { ...pair, ...(orderProblem && { orderProblem }) };
    };
    const metrics = config.metrics === null ? null : await createMetrics();
    const meters = metrics?.meters ?? NO_METERS;
    const backupFolder = createBackupFolder({
      dir: config.backups.dir,
      database: config.database,
      clock,
      fileClock: systemClock,
      release: RELEASE,
    });
    const database = await openDatabase(config.database, {
      logger,
      ...(config.backups.beforeMigration && {
        beforeMigration: createMigrationBackup(backupFolder, { logger, keep: config.backups.keep }),
      }),
      ...(metrics && { queried: meters.queried }),
    });
    opened.push(() => database.close());
    const writeBatch = new WriteBatch(database);
    opened.push(() => writeBatch.idle());
    const periodicWriter = new PeriodicWriter(clock, writeBatch);
    opened.push(() => periodicWriter.close());
    const plainBus = await openBus(config.bus, { clock, logger });
    const bus = metrics === null ? plainBus : measuredBus(plainBus, meters, () => clock.monotonicMs());
    opened.push(() => bus.close());
    const leader = createLeader({ database, clock, random, logger, bus });
    opened.push(() => leader.close());
    const webhook =
      config.webhook && createWebhook({ clock, database, leader, logger, random }, config.webhook);
    if (webhook) opened.push(() => webhook.close());
    else await deleteOldEvents(database.db, clock.nowMs());
    const activity = createActivity({ database, clock, logger, webhook });
    opened.push(() => activity.settled());
    if (config.secrets.keys !== null)
      registerSealing({ clock, database, leader, logger }, config.secrets.keys);
    // Use the machine's clock. A test's clock stands still, so close() would wait forever for a collector that does not
    // answer.
    const collector =
      config.traces && (await createOtlpTraces(config.traces, { clock: systemClock, logger }));
    if (collector) opened.push(() => collector.close());
    const traces = metrics === null ? collector : measuredLaunches(collector, meters);
    const base = {
      ...{ config, database, writeBatch, periodicWriter, clock, random, logger },
      ...{ bus, leader, activity, meters, traces },
    };
    const jobs = createJobs(base);
    opened.push(() => jobs.close());
    const platform: Platform = { ...base, jobs, webhook };
    const server = await createServer({
      config,
      logger,
      clock: systemClock,
      random,
      certificate: firstCertificate,
      ...(orders && { challengeAnswer: (token: string) => orders.answer(token) }),
      writable: () => !database.full,
      ...(metrics && { meters }),
      ...(overrides.listenerLimits && { limits: overrides.listenerLimits }),
    });
    opened.push(() => server.close());
    reloaded?.start((pair) => server.listeners.setCertificate(pair));
    opened.push(() => reloaded?.close());
    opened.push(() => orders?.close());

    const backups = createBackups(platform, { folder: backupFolder, jobAdmin: jobs.admin });
    const settings = createSettings(platform);
    const secrets = createSecrets(platform);
    const profiles = createProfiles(platform);
    const catalog = createCatalog(platform, profiles);
    const artwork = createArtwork(platform, { secrets, ...overrides.artwork });
    opened.push(() => artwork.close());
    const accountsDeps: AccountsDeps = {
      settings,
      grantFirstAdminApps: catalog.grantFirstAdminApps,
      listEntitlementsOfUser: catalog.entitlements.listOfUser,
      // `sessions` is assigned later in this function.
      stopSessions: (ids, reason) => sessions.stopAll(ids, reason),
      certificate,
      ...(overrides.accountLimits && { limits: overrides.accountLimits }),
    };
    const accounts = createAccounts(platform, accountsDeps);
    opened.push(() => accounts.close());
    const fleet = createFleet(platform, {
      socketClock: systemClock,
      // Hosts do not pin a certificate that is renewed every few weeks; they check its authority.
      certificate: orders === null ? certificate : () => null,
      ...(overrides.installDir !== undefined && { installDir: overrides.installDir }),
      ...(overrides.credentialLimits && { credentialLimits: overrides.credentialLimits }),
    });
    opened.push(() => fleet.close());
    const images = createImages(platform, { fleet, presets: catalog.presets, settings });
    opened.push(() => images.close());
    fleet.links.addRegistrationStep((tx, hosts) =>
      jobs.agents.agentsRestarted(
        tx,
        hosts.filter(({ sameBoot }) => !sameBoot),
      ),
    );
    const discovery = createDiscovery(platform, {
      settings,
      images: images.providers,
      ...overrides.discovery,
    });
    opened.push(() => discovery.close());
    const tokens = createSignalingTokens(platform);
    const telemetry = createTelemetry(platform);
    opened.push(() => telemetry.close());
    const recordings = createRecordings(platform, { agents: fleet.agents });
    const sessions = createSessions(platform, { fleet, images, recordings, settings, telemetry, tokens });
    opened.push(() => sessions.close());
    const consoles = fleet.startConsoles(sessions.consoles);
    opened.push(() => consoles.close());
    const certification = createCertification(platform, { fleet, sessions, telemetry });
    opened.push(() => certification.close());
    const signaling = createSignaling(platform, { agents: fleet.agents, sessions, settings, tokens });
    opened.push(() => signaling.close());

    metrics?.setSources({
      sessions: sessions.countLive,
      hosts: fleet.count,
      slots: fleet.countSlots,
      openJobRuns: jobs.countOpen,
      agentSockets: () => fleet.links.presence().connected,
      viewerSockets: () => signaling.connected,
      busConnected: () => bus.isConnected(),
      leases: () => leader.held(),
      connections: () => database.connections(),
      webhook: async () => (await webhook?.backlog()) ?? null,
    });
    const metricsListener =
      metrics && config.metrics && createMetricsListener(config.metrics, metrics, logger);
    if (metricsListener) opened.push(() => metricsListener.close());

    server.setCallerChecks({ ...accounts, authenticateNode: fleet.authenticateNode });
    const health = registerHealth(server, platform);
    registerAccountsRoutes(server, accounts, platform, accountsDeps);
    registerCatalogRoutes(server, catalog);
    registerArtworkRoutes(server, artwork, config.artwork.maxBytes);
    registerImagesRoutes(server, images);
    registerDiscoveryRoutes(server, discovery);
    registerProfilesRoutes(server, profiles);
    registerSettingsRoutes(server, { settings, secrets });
    registerFleetRoutes(server, fleet);
    registerPreflightRoutes(server, createPreflights(platform, fleet));
    registerActivityRoutes(server, activity);
    registerDeletionRoutes(server, platform);
    registerGuestRoutes(server, sessions.guests, { config, clock });
    registerSessionsRoutes(server, sessions, {
      config,
      clock,
      authenticate: accounts.authenticate,
    });
    registerTelemetryRoutes(server, telemetry, recordings);
    registerViewerReportRoutes(server, telemetry.ingest, {
      openGate: () => createSessionGate(sessions, clock),
      reported: sessions.viewerReported,
      seen: sessions.seen,
    });
    registerRecordingsRoutes(server, recordings);
    registerVerdictRoutes(server, sessions, { recordings, telemetry, clock });
    registerCertificationRoutes(server, certification, config);
    registerSignalingRoutes(server, signaling);
    registerStorageRoutes(server, createStorage(platform, { collected: discovery.forget }), platform);
    registerJobsRoutes(server, jobs);
    registerBackupRoutes(server, backups);
    registerWebhookRoutes(server, webhook);
    await registerReference(server);
    await registerPages(server, {
      webDir: config.webDir,
      logger,
      gate: accounts,
      singleSignOn: config.accounts.oidc?.name ?? null,
    });
    const unhandled = server.unhandled();
    if (unhandled.length > 0)
      throw new Error(`declared operations without a handler: ${unhandled.join(', ')}`);

    await settings.seed();
    // Store the shipped profiles before the seed file's apps, which may refer to them.
    await profiles.seedShipped();
    await catalog.plantSeed();
    await jobs.start();
    await accounts.boot();
    await fleet.start();
    await sessions.start();
    await artwork.start();
    await discovery.settleProviders();
    await server.fastify.ready();

    return {
      platform,
      server,
      catalog,
      artwork,
      discovery,
      fleet,
      images,
      sessions,
      telemetry,
      jobs,
      async listen() {
        const metricsPage = (await metricsListener?.listen()) ?? null;
        const addresses = { ...(await server.listeners.listen()), metrics: metricsPage };
        leader.start();
        orders?.start();
        logger.info(addresses, 'service.listening');
        return addresses;
      },
      async reloadCertificate() {
        await reloaded?.reload();
      },
      async drain() {
        health.drain();
        server.drain();
        if (config.drainMs > 0) await delay(clock, config.drainMs);
      },
      inject: server.fastify.inject.bind(server.fastify) as ControlPlane['inject'],
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The NATS client is loaded only if replicas use it. */
async function openBus(options: Config['bus'], deps: { clock: Clock; logger: Logger }): Promise<Bus> {
  if (options === null) return createInProcessBus(deps);
  const { createNatsBus } = await import('./platform/bus/nats.ts');
  return createNatsBus(options, { ...deps, socketClock: systemClock });
}

/** A failed close must not keep other resources open. */
async function closeAll(opened: readonly (() => Promise<void> | void)[], logger: Logger): Promise<void> {
  for (const closeOwner of [...opened].reverse()) {
    try {
      await closeOwner();
    } catch (error) {
      logger.error({ err: error }, 'service.close_failed');
    }
  }
}
