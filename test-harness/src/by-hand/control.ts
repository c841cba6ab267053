/** scripts/fake control: starts a fake control plane by hand, for a real agent. */
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { errorText } from '@footlight/platform';
import { type AgentMessage, parseAgentFrame } from '@footlight/protocol/agent';
import { assignment, FakeControl } from '../fake-control/index.ts';
import { described } from './choice.ts';
import { CONTROL_BEHAVIOURS, controlBehaviourOf } from './control-behaviours.ts';
import { COMMON_OPTIONS, commonUsage, count, randomOf, readWords, recordOf, say } from './options.ts';

export const controlUsage = `Usage: scripts/fake control [BEHAVIOUR …] [--port N] [--app COMMAND] [--seed N] [--record FILE]

Takes the connections of real agents on 127.0.0.1 until Ctrl-C, and prints their messages. Without a behaviour it does
what a control plane should. Start an agent next to it:

  SERVICE_CONTROL_URL=http://127.0.0.1:8099 SERVICE_ENROLLMENT_TOKEN=a-token-by-hand-0 \\
  SERVICE_AGENT_STATE_DIR=/tmp/fake-agent SERVICE_NODE_NAME=by-hand SERVICE_PROCESS_RUNTIME=1 scripts/node-agent

${described(CONTROL_BEHAVIOURS)}

  --port N       where it listens (8099)
  --app COMMAND  launches this command as a session on each agent that reports its capacity
${commonUsage}`;

/** Runs until the signal aborts. @param args after the word `control` */
export async function runControl(args: readonly string[], until: AbortSignal): Promise<void> {
  const { values, positionals: words } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { port: { type: 'string', default: '8099' }, app: { type: 'string' }, ...COMMON_OPTIONS },
  });
  const behaviour = controlBehaviourOf(words);
  const port = count('--port', values.port, 0, 65_535);
  const record = recordOf(values.record);
  const random = randomOf(values.seed);
  const command = values.app?.split(/\s+/).filter((word) => word !== '') ?? [];
  let launched = command.length === 0;
  const shown = {
    random,
    onFrame: (node: string, direction: 'sent' | 'received', text: string) => {
      record(node, direction, text);
      say(`${direction === 'sent' ? '→' : '←'} ${node}: ${summary(text)}`);
      const reports = direction === 'received' && parseAgentFrame(text);
      if (launched || !reports || reports.kind !== 'message' || reports.message.type !== 'capacity') return;
      launched = true;
      void launch().catch((error: unknown) => say(errorText(error)));
    },
    onMalformed: (_node: string, why: string) => say(why),
  };
  const control = await FakeControl.listen({ ...behaviour, ...shown }, port);
  async function launch(): Promise<void> {
    const assign = assignment(command);
    const accepted = await control.command(assign);
    if (accepted.ok) await control.command({ type: 'session_start', session_id: assign.session_id });
  }
  readWords(until, (next) => {
    control.options = { ...controlBehaviourOf(next), ...shown };
  });
  say(`listening on ${control.url.href}`);
  try {
    if (!until.aborted) await once(until, 'abort');
  } finally {
    await control.close();
  }
}

/** One line for a message: its type, and its most important fields. */
function summary(text: string): string {
  const message = JSON.parse(text) as Partial<AgentMessage> & { type: string };
  const fields = Object.entries(message).flatMap(([name, value]) =>
    SHOWN.has(name) && value !== null ? [`${name}=${String(value)}`] : [],
  );
  return [message.type, ...fields].join(' ');
}

const SHOWN: ReadonlySet<string> = new Set([
  'state',
  'detail',
  'failure_code',
  'event',
  'ok',
  'code',
  'error',
  'seq',
  'host_id',
  'session_id',
  'detection',
]);
