/** scripts/fake: starts fake hosts by hand, so that a page or an API can be seen with hosts that misbehave. */
import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { errorText } from '@footlight/platform';
import { placesFor } from '../../../scripts/bring-up/places.mjs';
import { FakeAgent, gpuCapacity, honest, softwareCapacity } from '../fake-agent/index.ts';
import { BEHAVIOURS, behaviourOf } from './behaviours.ts';

const MOST_HOSTS = 1_000;

const usage = `Usage: scripts/fake agent [BEHAVIOUR …] [--hosts N] [--gpus N] [--name NAME] [--url URL]

Connects fake hosts to a control plane, by default that of scripts/up on this machine, until Ctrl-C. Without a
behaviour they do what they should; their sessions have no picture.

${Object.entries(BEHAVIOURS)
  .map(([word, { does }]) => `  ${word.padEnd(10)} ${does}`)
  .join('\n')}

  --hosts N    how many, 1 to ${MOST_HOSTS} (1)
  --gpus N     NVIDIA cards of each host (0: it encodes in software)
  --name NAME  of the first host; more get a number (fake)
  --url URL    of the control plane

The enrollment token is SERVICE_ENROLLMENT_TOKEN, the file SERVICE_ENROLLMENT_TOKEN_FILE, or that of scripts/up.
`;

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h' },
      hosts: { type: 'string', default: '1' },
      gpus: { type: 'string', default: '0' },
      name: { type: 'string', default: 'fake' },
      url: { type: 'string' },
    },
  });
  const [kind, ...words] = positionals;
  if (values.help || kind !== 'agent') {
    process.stdout.write(usage);
    if (!values.help) process.exitCode = 2;
    return;
  }
  const behaviour = behaviourOf(words);
  const places = placesFor(process.env);
  const url = values.url ?? `http://127.0.0.1:${places.httpPort}`;
  const token = enrollmentToken(places.enrollmentToken);
  const hosts = count('--hosts', values.hosts, 1, MOST_HOSTS);
  const gpus = count('--gpus', values.gpus, 0, 8);
  const until = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => until.abort());
  const names = Array.from({ length: hosts }, (_, i) =>
    hosts === 1 ? values.name : `${values.name}-${i + 1}`,
  );
  await Promise.all(
    names.map(async (nodeName) => {
      const agent = new ToldAgent({
        url,
        nodeName,
        credential: { token },
        behaviour,
        capacity: gpus === 0 ? softwareCapacity() : gpuCapacity(gpus),
      });
      const staying = agent.stay(until.signal);
      until.signal.addEventListener('abort', () => void agent.close());
      await staying;
    }),
  );
}

/** A fake agent that prints what happens to it. */
class ToldAgent extends FakeAgent {
  constructor(options: ConstructorParameters<typeof FakeAgent>[0]) {
    const { answer = honest.answer } = options.behaviour ?? {};
    super({
      ...options,
      behaviour: {
        ...options.behaviour,
        answer: (command) => {
          const given = answer(command);
          const words = given === 'ok' || given === 'silence' ? given : `refused as ${given.code}`;
          say(`${options.nodeName}: ${command.type} → ${words}`);
          return given;
        },
      },
    });
  }

  override async connect(): ReturnType<FakeAgent['connect']> {
    try {
      const registered = await super.connect();
      say(`${this.options.nodeName}: connected as host ${registered.host_id}`);
      void this.closed.then(({ code, reason }) =>
        say(`${this.options.nodeName}: closed with ${code}${reason === '' ? '' : ` (${reason})`}`),
      );
      return registered;
    } catch (error) {
      say(`${this.options.nodeName}: not connected: ${errorText(error)}`);
      throw error;
    }
  }
}

function enrollmentToken(fileOfUp: string): string {
  const given = process.env.SERVICE_ENROLLMENT_TOKEN;
  if (given) return given;
  const file = process.env.SERVICE_ENROLLMENT_TOKEN_FILE ?? fileOfUp;
  if (!existsSync(file))
    throw new Error(
      `There is no enrollment token in ${file}. Run scripts/up, or set SERVICE_ENROLLMENT_TOKEN.`,
    );
  return readFileSync(file, 'utf8').trim();
}

function count(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < least || value > most)
    throw new Error(`${option} is '${text}'; expected a number from ${least} to ${most}.`);
  return value;
}

main().catch((error: unknown) => {
  process.stderr.write(`${errorText(error)}\n`);
  process.exitCode = 1;
});
