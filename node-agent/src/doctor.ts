import type { Readiness } from '@footlight/protocol/agent';
import type { AgentConfig } from './config/environment.ts';
import { reach } from './link/dial.ts';
import { systemClock } from './platform/clock.ts';
import { silentLogger } from './platform/logger.ts';
import { errorText } from './platform/text.ts';
import { Inventory } from './probe/inventory.ts';
import { missingPrograms, PROGRAMS } from './readiness/facts.ts';
import { canIsolate } from './runtime/process.ts';

const REACH_LIMIT_MS = 5_000;
const MARKS: Record<string, string> = { pass: 'ok  ', fail: 'FAIL', skip: '–   ' };
/** What a host can do without; the other checks decide the exit code. */
const OPTIONAL = ['input_devices', 'mdns_resolution', 'app_limits', 'storage_free', 'clock_offset'];

/**
 * Checks this host and prints each finding with what to do about it.
 * @returns the exit code: 0 sessions can run here, 1 something has to be mended first
 */
export async function doctor(config: AgentConfig, print: (line: string) => void): Promise<number> {
  const inventory = new Inventory(config, {
    clock: systemClock,
    logger: silentLogger(),
    isolated: await canIsolate(),
  });
  await inventory.probe();
  const checks = [
    programs(),
    await controlPlane(config.controlUrl),
    ...(await inventory.refreshReadiness(null)),
  ];
  for (const check of checks) {
    print(`${MARKS[check.status] ?? check.status} ${check.id}: ${check.summary}`);
    for (const line of check.remediation) print(`       → ${line}`);
  }
  const broken = checks.filter(({ id, status }) => status === 'fail' && !OPTIONAL.includes(id));
  const advice = checks.filter(({ id, status }) => status === 'fail' && OPTIONAL.includes(id));
  if (broken.length > 0)
    print(`This host cannot serve sessions yet: ${broken.map(({ id }) => id).join(', ')}.`);
  else if (advice.length > 0) print('This host can serve sessions; see the advice above.');
  else print('This host can serve sessions.');
  return broken.length > 0 ? 1 : 0;
}

function programs(): Readiness {
  const missing = missingPrograms();
  if (missing.length === 0) {
    return {
      id: 'programs',
      status: 'pass',
      summary: 'Every program that sessions need is installed.',
      remediation: [],
    };
  }
  const packages = [...new Set(missing.map((name) => PROGRAMS[name] ?? name))];
  return {
    id: 'programs',
    status: 'fail',
    summary: `Missing: ${missing.join(', ')}.`,
    remediation: [`apt-get install ${packages.join(' ')}`],
  };
}

async function controlPlane(url: URL): Promise<Readiness> {
  const id = 'control_plane';
  try {
    await reach(url, REACH_LIMIT_MS);
    return { id, status: 'pass', summary: `${url.origin} accepts connections.`, remediation: [] };
  } catch (error) {
    return {
      id,
      status: 'fail',
      summary: `${url.origin} cannot be reached: ${errorText(error, 200)}`,
      remediation: ['Start the control plane, or correct SERVICE_CONTROL_URL.'],
    };
  }
}
