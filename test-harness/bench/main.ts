/**
 * scripts/bench <name>: one JSON line per round, and one summary line; the exit status is 1 when the mark is missed,
 * and 3 when the reference was too noisy to judge.
 */
import { benchAdmission } from './api/admission.ts';
import { benchApi } from './api/api.ts';
import { benchLogin } from './api/login.ts';
import { benchBus } from './bus.ts';
import { benchFanin, benchReconnect, benchStorm } from './fleet/fleet.ts';
import { benchMetrics } from './fleet/metrics.ts';
import { benchFleetPages } from './fleet/pages.ts';
import { benchReplicas } from './fleet/replicas.ts';
import { benchSize } from './fleet/size.ts';
import { benchJobs } from './jobs/jobs.ts';
import { benchLibrary } from './library.ts';
import { benchCaptures } from './media/captures.ts';
import { benchDensity } from './media/density.ts';
import { benchGuests } from './media/guests.ts';
import { benchLoss } from './media/loss.ts';
import { benchLaunch, benchMedia } from './media/media.ts';
import { benchStep } from './media/step.ts';
import { benchTiming } from './media/timing.ts';
import { benchRelay } from './relay/relay.ts';
import { benchTelemetry } from './telemetry/telemetry.ts';
import { benchTrace } from './telemetry/trace.ts';

const ROUNDS = 5;
const STEPS = 10;
/** A round takes 24 s. */
const CAPTURE_ROUNDS = 10;
/** Rounds for 1 and for 1,000 hosts. A round takes half a minute. */
const RECONNECTS = 3;
const benches: Record<string, () => Promise<number>> = {
  api: () => benchApi(ROUNDS, ['sqlite', 'postgres']),
  'api-sqlite': () => benchApi(ROUNDS, ['sqlite']),
  'api-postgres': () => benchApi(ROUNDS, ['postgres']),
  admission: () => benchAdmission(ROUNDS, ['sqlite', 'postgres']),
  'admission-sqlite': () => benchAdmission(ROUNDS, ['sqlite']),
  'admission-postgres': () => benchAdmission(ROUNDS, ['postgres']),
  jobs: () => benchJobs(ROUNDS),
  library: () => benchLibrary(ROUNDS),
  login: () => benchLogin(ROUNDS),
  relay: () => benchRelay(ROUNDS),
  bus: () => benchBus(ROUNDS),
  replicas: () => benchReplicas(ROUNDS),
  size: () => benchSize(),
  fanin: () => benchFanin(ROUNDS),
  storm: () => benchStorm(ROUNDS),
  'fleet-pages': () => benchFleetPages(),
  metrics: () => benchMetrics(ROUNDS, ['sqlite', 'postgres']),
  telemetry: () => benchTelemetry(ROUNDS, ['sqlite', 'postgres']),
  'telemetry-sqlite': () => benchTelemetry(ROUNDS, ['sqlite']),
  'telemetry-postgres': () => benchTelemetry(ROUNDS, ['postgres']),
  trace: () => benchTrace(ROUNDS, ['sqlite', 'postgres']),
  'trace-sqlite': () => benchTrace(ROUNDS, ['sqlite']),
  'trace-postgres': () => benchTrace(ROUNDS, ['postgres']),
  reconnect: () => benchReconnect(RECONNECTS),
  launch: () => benchLaunch(20),
  connect: () => benchMedia(['connect'], ROUNDS),
  g2g: () => benchMedia(['g2g'], ROUNDS),
  click: () => benchMedia(['click'], ROUNDS),
  step: () => benchStep(STEPS, ['fixed', 'defaults', 'ladder']),
  'step-defaults': () => benchStep(STEPS, ['defaults']),
  'step-ladder': () => benchStep(STEPS, ['ladder']),
  loss: () => benchLoss(ROUNDS, [0.02, 0.05]),
  'loss-2': () => benchLoss(ROUNDS, [0.02]),
  'loss-5': () => benchLoss(ROUNDS, [0.05]),
  density: () => benchDensity(ROUNDS),
  guests: () => benchGuests(ROUNDS),
  captures: () => benchCaptures(CAPTURE_ROUNDS),
  timing: () => benchTiming(ROUNDS),
  media: () => benchMedia(['connect', 'g2g', 'click'], ROUNDS),
};

const name = process.argv[2] ?? '';
const bench = benches[name];
if (bench === undefined) {
  process.stderr.write(
    `Usage: scripts/bench <${Object.keys(benches).join(' | ')}>\nmedia is connect, g2g and click in one run.\n`,
  );
  process.exit(2);
}
// Native threads of closed viewers would delay a normal exit.
process.exit(await bench());
