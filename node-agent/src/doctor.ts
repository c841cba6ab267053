import { existsSync } from 'node:fs';
import { errorText, isSystemdRunning, silentLogger, systemClock } from '@footlight/platform';
import type { Readiness } from '@footlight/protocol/agent';
import { ADVISORY_CHECKS } from '@footlight/protocol/readiness';
import type { AgentConfig } from './config/environment.ts';
import { HostSettings } from './config/host-settings.ts';
import { INSTALL_PLACES } from './install/install.ts';
import { AGENT_SERVICE } from './install/unit.ts';
import { reach } from './link/dial.ts';
import { inspectEncoders } from './media/encode/encoder-probe.ts';
import { encoderTableChecks } from './readiness/encoder-table.ts';
import { missingPrograms, PROGRAMS } from './readiness/facts.ts';
import { Inventory } from './readiness/inventory.ts';
import { EngineHost, engineOptions } from './runtime/container/engine/engine-host.ts';
import { networkNamespaceProblem } from './runtime/network/app-network.ts';
import { findIsolation } from './runtime/process.ts';
import { runProgram } from './runtime/programs/run-program.ts';

/**
 * Short, because a person waits for the output of the doctor. A control plane that does not answer within this time
 * counts as unreachable.
 */
const REACH_LIMIT_MS = 5_000;
const MARKS: Record<string, string> = { pass: 'ok  ', fail: 'FAIL', skip: '–   ', unknown: '?   ' };
/** Whether the exit code ignores the check with this id. */
const isAdvice = (id: string): boolean => id === 'service' || ADVISORY_CHECKS.has(id);

/**
 * Checks this host and prints each finding with its remedy.
 * @returns the exit code: 0 sessions can run here, 1 a fault must be repaired
 */
export async function doctor(config: AgentConfig, print: (line: string) => void): Promise<number> {
  const logger = silentLogger();
  const isolated = (await findIsolation(logger)) === 'root';
  const engine = new EngineHost(
    engineOptions(config, () => inventory.hasNvidia),
    {
      clock: systemClock,
      logger,
      env: process.env,
    },
  );
  const inventory: Inventory = new Inventory(config, {
    engine,
    clock: systemClock,
    logger,
    isolated,
    networks: isolated && (await networkNamespaceProblem(systemClock)) === null,
    settings: await HostSettings.open(config.stateDir, config.hostSettings, logger),
    // Left out, because the agent's check of the homes can move homes.
    homeProblems: () => [],
  });
  await inventory.probe();
  const checks = [
    programs(),
    await controlPlane(config.controlUrls),
    ...(await inventory.refreshReadiness(null)),
    await service(),
    ...(await encoderTable(inventory)),
  ];
  for (const check of checks) {
    print(`${MARKS[check.status] ?? check.status} ${check.id}: ${check.summary}`);
    for (const line of check.remediation) print(`       → ${line}`);
  }
  const broken = checks.filter(({ id, status }) => status === 'fail' && !isAdvice(id));
  const advice = checks.filter(({ id, status }) => status === 'fail' && isAdvice(id));
  if (broken.length > 0)
    print(`This host cannot serve sessions yet: ${broken.map(({ id }) => id).join(', ')}.`);
  else if (advice.length > 0) print('This host can serve sessions; some things could be better.');
  else print('This host can serve sessions.');
  // The remedies are printed again at the end, because earlier lines may have scrolled out of sight.
  for (const { id, remediation } of [...broken, ...advice]) {
    for (const line of remediation.slice(0, 1)) print(`  to mend ${id}: ${asCommand(line)}`);
  }
  return broken.length > 0 ? 1 : 0;
}

/** On an installed agent, a remedy that changes a setting is shown as a command. */
function asCommand(remedy: string): string {
  const setting = /\bset (SERVICE_[A-Z_]+=[\w./:-]+)/.exec(remedy)?.[1];
  if (setting === undefined || !existsSync(INSTALL_PLACES.command)) return remedy;
  return `sudo ${setting} footlight-agent install (${remedy})`;
}

/** Compares the encoder table with this host's GStreamer, on the GPU of sessions. */
async function encoderTable(inventory: Inventory): Promise<Readiness[]> {
  const { gpus, encoderFamily, settings } = inventory;
  const first = gpus.find(({ renderNode }) => renderNode !== null);
  const gpu = first && { index: first.index, vendor: first.vendor, render_node: first.renderNode };
  return encoderTableChecks(
    await inspectEncoders(gpu ?? null, { clock: systemClock, settings }),
    encoderFamily,
  );
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

/** Checks whether this host starts its agent at boot. */
async function service(): Promise<Readiness> {
  const id = 'service';
  if (!isSystemdRunning())
    return skipped(id, 'Process 1 of this machine is not systemd; something else starts the agent.');
  if (!existsSync(INSTALL_PLACES.unitFile)) return skipped(id, 'The agent is not installed as a service.');
  const answer = await runProgram('systemctl', ['is-active', AGENT_SERVICE]);
  const state = answer.kind === 'not_started' ? '' : answer.stdout.trim();
  if (state === 'active')
    return { id, status: 'pass', summary: `${AGENT_SERVICE} is active.`, remediation: [] };
  return {
    id,
    status: 'fail',
    summary: `${AGENT_SERVICE} is ${state || 'in an unknown state'}.`,
    remediation: [`systemctl restart ${AGENT_SERVICE}`, `journalctl -u ${AGENT_SERVICE} -n 30`],
  };
}

function skipped(id: string, summary: string): Readiness {
  return { id, status: 'skip', summary, remediation: [] };
}

/** Passes when at least one replica of the control plane is reachable. */
async function controlPlane(urls: readonly URL[]): Promise<Readiness> {
  const id = 'control_plane';
  const problems: string[] = [];
  for (const url of urls) {
    try {
      await reach(url, REACH_LIMIT_MS);
      return { id, status: 'pass', summary: `${url.origin} accepts connections.`, remediation: [] };
    } catch (error) {
      problems.push(`${url.origin} cannot be reached: ${errorText(error, 200)}`);
    }
  }
  return {
    id,
    status: 'fail',
    summary: problems.join('; '),
    remediation: ['Start the control plane, or correct SERVICE_CONTROL_URL.'],
  };
}
