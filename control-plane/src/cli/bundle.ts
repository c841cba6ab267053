/** footlight bundle: an archive for support, without secrets. */
import { createWriteStream, rmSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { maskJson } from '@footlight/platform';
import { pack } from 'tar-stream';
import { ask } from './ask.ts';
import type { Client } from './client.ts';
import { CliFailure, EXIT, type ExitCode } from './failure.ts';
import { judgeOverview } from './findings.ts';
import { readOverview } from './overview.ts';
import { listOf } from './pages.ts';
import { printLines, type Terminal } from './terminal.ts';
import { tableLines } from './terminal-text.ts';

/** Sessions in the bundle, and those of them with a verdict. */
const SESSIONS = '100';
const VERDICTS = 20;

/** Fields with texts of apps, and names of people. */
const LEFT_OUT = ['app_log_tail', 'username', 'email'];

const README = `Support bundle of Footlight.

It contains no passwords, tokens, secrets or environment variables, no output of apps, and no names of people.
Texts that look like a secret are masked. Read the files before you pass them on: they contain names and
addresses of hosts, and names of apps.

The logs are not in it, because the API does not give them out. On the machine of the control plane, and on a host:

  journalctl -u footlight-control --since -1h > control.log
  journalctl -u footlight-agent --since -1h > agent.log
`;

/** Writes the bundle and lists what is in it. @param output a new file */
export async function writeBundle(terminal: Terminal, client: Client, output: string): Promise<ExitCode> {
  const files = await bundleFiles(terminal, client);
  const { token } = client.access;
  // Nothing that is written contains the token. This check holds if that changes.
  for (const [name, text] of files)
    if (token !== null && text.includes(token))
      throw new CliFailure(EXIT.failed, 'secret_in_bundle', `${name} contains the access token.`);
  const archive = pack();
  const mtime = new Date(terminal.clock.nowMs());
  for (const [name, text] of files) archive.entry({ name, mode: 0o600, mtime }, text);
  archive.finalize();
  // Only the owner may read it, and it replaces no file.
  const file = createWriteStream(output, { flags: 'wx', mode: 0o600 });
  let isMade = false;
  file.once('open', () => {
    isMade = true;
  });
  try {
    await pipeline(archive, createGzip(), file);
  } catch (error) {
    if (isMade) rmSync(output, { force: true });
    throw error;
  }
  const rows = files.map(([name, text]) => [name, `${Buffer.byteLength(text)}`]);
  printLines(terminal, [...tableLines(['FILE', 'BYTES'], rows), '', `Written: ${output}`]);
  return EXIT.success;
}

async function bundleFiles(
  terminal: Terminal,
  client: Client,
): Promise<readonly (readonly [name: string, text: string])[]> {
  const overview = await readOverview(terminal, client);
  const sessions = (await ask(client, 'admin.sessions.list', { query: { limit: SESSIONS } })).items;
  const verdicts = [];
  for (const { id } of sessions.slice(0, VERDICTS))
    verdicts.push({
      session_id: id,
      verdict: await orFailure(ask(client, 'admin.sessions.verdict', { params: { id } })),
    });
  const json: Record<string, unknown> = {
    'status.json': {
      url: client.access.url,
      fleet: overview.fleet,
      clock_offset_ms: overview.clockOffsetMs,
      findings: judgeOverview(overview, terminal.clock.nowMs()),
      contract: (await ask(client, 'openapi.read'))?.info,
    },
    'access-check.json': overview.access,
    'hosts.json': (await listOf(client, 'hosts.list')).rows,
    'gpus.json': (await listOf(client, 'gpus.list')).rows,
    'sessions.json': sessions,
    'verdicts.json': verdicts,
    'jobs.json': overview.jobs,
    'backups.json': overview.backups,
    'images.json': await orFailure(ask(client, 'images.list')),
    'settings.json': await ask(client, 'settings.read'),
    'webhook.json': overview.webhook,
  };
  return [
    ['README.txt', README],
    ...Object.entries(json).map(
      ([name, value]) => [name, `${JSON.stringify(maskJson(withoutPeople(value)), null, 2)}\n`] as const,
    ),
  ];
}

/** The answer, or why there is none. A part that fails must not prevent the bundle. */
const orFailure = (answer: Promise<unknown>): Promise<unknown> =>
  answer.catch((error: unknown) => {
    if (error instanceof CliFailure && error.exitCode === EXIT.failed)
      return { error: error.code, message: error.message };
    throw error;
  });

function withoutPeople(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPeople);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !LEFT_OUT.includes(name))
      .map(([name, each]) => [name, withoutPeople(each)]),
  );
}
