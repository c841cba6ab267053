/** scripts/fake agent: starts fake hosts by hand, to test a page or an API with hosts that misbehave. */
import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { errorText } from '@footlight/platform';
import { placesFor } from '../../../scripts/bring-up/places.mjs';
import { type Behaviour, FakeAgent, gpuCapacity, Pictures, softwareCapacity } from '../fake-agent/index.ts';
import { BEHAVIOURS, behaviourOf } from './agent-behaviours.ts';
import { described } from './choice.ts';
import { COMMON_OPTIONS, commonUsage, count, randomOf, readWords, recordOf, say } from './options.ts';

const MAX_HOSTS = 1_000;

export const agentUsage = `Usage: scripts/fake agent [BEHAVIOUR …] [--hosts N] [--gpus N] [--name NAME] [--url URL]
                          [--picture] [--seed N] [--record FILE]

Connects fake hosts to a control plane, by default that of scripts/up on this machine, until Ctrl-C. Without a
behaviour they do what they should; without --picture their sessions have no picture.

${described(BEHAVIOURS)}

  --hosts N    how many, 1 to ${MAX_HOSTS} (1)
  --gpus N     NVIDIA cards of each host (0: it encodes in software)
  --name NAME  of the first host; more get a number (fake)
  --url URL    of the control plane
  --picture    streams a red test picture of 320×180 in H.264 to each viewer (needs GStreamer)
${commonUsage}
The enrollment token is SERVICE_ENROLLMENT_TOKEN, the file SERVICE_ENROLLMENT_TOKEN_FILE, or that of scripts/up.
`;

/** Runs until the signal aborts. @param args after the word `agent` */
export async function runAgents(args: readonly string[], until: AbortSignal): Promise<void> {
  const { values, positionals: words } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      hosts: { type: 'string', default: '1' },
      gpus: { type: 'string', default: '0' },
      name: { type: 'string', default: 'fake' },
      url: { type: 'string' },
      picture: { type: 'boolean', default: false },
      ...COMMON_OPTIONS,
    },
  });
  const behaviour = behaviourOf(words);
  const places = placesFor(process.env);
  const url = values.url ?? `http://127.0.0.1:${places.httpPort}`;
  const token = enrollmentToken(places.enrollmentToken);
  const hosts = count('--hosts', values.hosts, 1, MAX_HOSTS);
  const gpus = count('--gpus', values.gpus, 0, 8);
  const names = Array.from({ length: hosts }, (_, i) =>
    hosts === 1 ? values.name : `${values.name}-${i + 1}`,
  );
  const record = recordOf(values.record);
  const pictures = values.picture ? new Pictures() : null;
  const random = randomOf(values.seed);
  const agents = names.map(
    (nodeName) =>
      new ToldAgent({
        url,
        nodeName,
        credential: { token },
        behaviour: told(nodeName, behaviour),
        capacity: gpus === 0 ? softwareCapacity() : gpuCapacity(gpus),
        random,
        ...(pictures !== null && {
          onSignaling: (frame, agent) =>
            void pictures.hear(frame, agent).catch((error: unknown) => say(errorText(error))),
        }),
        onFrame: (direction, text) => record(nodeName, direction, text),
      }),
  );
  readWords(until, (words) => {
    const next = behaviourOf(words);
    for (const agent of agents) agent.behaviour = told(agent.options.nodeName, next);
  });
  until.addEventListener('abort', () => void Promise.all(agents.map((agent) => agent.close())));
  await Promise.all(agents.map((agent) => agent.stay(until)));
  await pictures?.close();
}

/** Returns the behaviour, changed so that it also prints each command with its answer. */
function told(nodeName: string, behaviour: Behaviour): Behaviour {
  return {
    ...behaviour,
    answer: (command, holdsSession) => {
      const given = behaviour.answer(command, holdsSession);
      const words = given === 'ok' || given === 'silence' ? given : `refused as ${given.code}`;
      say(`${nodeName}: ${command.type} → ${words}`);
      return given;
    },
  };
}

/** A fake agent that prints its connections. */
class ToldAgent extends FakeAgent {
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
