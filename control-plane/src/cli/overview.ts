/** Commands about the state of the whole instance: status, doctor. */
import type { Success } from '@footlight/protocol/rest';
import { answerTo, ask } from './ask.ts';
import type { Client } from './client.ts';
import { EXIT, type ExitCode } from './failure.ts';
import { type AdminSession, AREAS, type Finding, judgeOverview, type Overview } from './findings.ts';
import { listOf } from './pages.ts';
import { printJson, printLines, type Terminal } from './terminal.ts';
import { fieldLines, localTime, oneLine } from './terminal-text.ts';

/** Failed sessions that are looked at. */
const FAILED_SESSIONS = '5';

/** Reads everything that the findings are about. @throws CliFailure if a part cannot be read */
export async function readOverview(terminal: Terminal, client: Client): Promise<Overview> {
  const access = await answerTo(client, 'access.check');
  const serverMs = Date.parse(access.headers.date ?? '');
  const sessionsOf = (query: Record<string, string>) => ask(client, 'admin.sessions.list', { query });
  const [fleet, hosts, active, failed, jobs, backups, webhook] = await Promise.all([
    ask(client, 'fleet.summary'),
    listOf(client, 'hosts.list', { attention: 'true' }),
    listOf(client, 'admin.sessions.list', { state: 'active' }),
    sessionsOf({ state: 'failed', limit: FAILED_SESSIONS }),
    listOf(client, 'admin.jobs.list'),
    ask(client, 'admin.backups.list'),
    ask(client, 'admin.webhook.status'),
  ]);
  return {
    fleet,
    hosts: hosts.rows as Overview['hosts'],
    activeSessions: active.rows as AdminSession[],
    failedSessions: failed.items,
    jobs: jobs.rows as Overview['jobs'],
    backups: backups.items,
    webhook,
    access: access.body as Success<'access.check'>,
    clockOffsetMs: Number.isNaN(serverMs) ? null : serverMs - terminal.clock.nowMs(),
  };
}

/** Shows the state of the instance on one screen. */
export async function showStatus(terminal: Terminal, client: Client, isJson: boolean): Promise<ExitCode> {
  const health = await answerTo(client, 'health');
  const [overview, { user }, contract] = await Promise.all([
    readOverview(terminal, client),
    ask(client, 'me.read'),
    ask(client, 'openapi.read'),
  ]);
  const findings = judgeOverview(overview, terminal.clock.nowMs());
  const sessions = countByState(overview.activeSessions);
  const backup = overview.backups.find(({ verified }) => verified);
  const { fleet } = overview;
  if (isJson) {
    printJson(terminal, {
      url: client.access.url,
      account: user.username,
      contract_version: contract?.info.version,
      health: health.body,
      ...fleet,
      sessions,
      newest_backup: backup ?? null,
      findings,
    });
    return EXIT.success;
  }
  const { db } = health.body as Success<'health'>;
  const states = Object.entries(sessions).map(([state, count]) => `${count} ${state}`);
  const lines = fieldLines([
    ['Address', client.access.url],
    ['Account', user.username],
    ['API version', contract?.info.version ?? '-'],
    ['Health', health.status === 200 ? 'ok' : `the database: ${db}`],
    [
      'Hosts',
      `${fleet.hosts.online} online, ${fleet.hosts.draining} draining, ${fleet.hosts.offline} offline`,
    ],
    ['Slots', `${fleet.slots.used} of ${fleet.slots.total} used`],
    ['Sessions', states.length === 0 ? 'none' : states.join(', ')],
    ['Backup', backup === undefined ? 'none' : localTime(Date.parse(backup.created_at), terminal.timeZone)],
  ]);
  printLines(terminal, [...lines, '', ...findingLines(findings)]);
  return EXIT.success;
}

/** Checks everything, from the address to the last failed session. */
export async function showDoctor(terminal: Terminal, client: Client, isJson: boolean): Promise<ExitCode> {
  // The first calls fail with what to do if the address, the certificate or the token is wrong.
  const health = await answerTo(client, 'health');
  const overview = await readOverview(terminal, client);
  const findings = judgeOverview(overview, terminal.clock.nowMs());
  const isHealthy = health.status === 200;
  const isWrong = !isHealthy || findings.some(({ level }) => level !== 'note');
  if (isJson) printJson(terminal, { url: client.access.url, healthy: isHealthy, findings });
  else {
    const passed = AREAS.filter((area) => !findings.some((finding) => finding.area === area));
    printLines(terminal, [
      `ok       address: ${client.access.url} answers, and the account is an administrator.`,
      isHealthy
        ? 'ok       health: control plane and database answer.'
        : 'FAULT    health: the database does not answer. The log of the control plane has the reason.',
      ...passed.map((area) => `ok       ${area}`),
      ...(findings.length === 0 ? [] : findingLines(findings)),
    ]);
  }
  return isWrong ? EXIT.failed : EXIT.success;
}

function findingLines(findings: readonly Finding[]): string[] {
  if (findings.length === 0) return ['All is well.'];
  const label = { fault: 'FAULT', warning: 'warning', note: 'note' };
  return findings.flatMap(({ level, title, remedies }) => [
    `${label[level].padEnd(7)}  ${oneLine(title)}`,
    ...remedies.map((remedy) => `         → ${oneLine(remedy)}`),
  ]);
}

function countByState(sessions: readonly AdminSession[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { state } of sessions) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}
