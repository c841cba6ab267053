/** scripts/fake: starts fake peers of a program by hand: hosts, viewers, a control plane, the pages. */
import { errorText } from '@footlight/platform';
import { agentUsage, runAgents } from './agent.ts';
import { controlUsage, runControl } from './control.ts';
import { pagesUsage, runPages } from './pages.ts';
import { runViewer, viewerUsage } from './viewer.ts';

const KINDS: Readonly<
  Record<string, { usage: string; run(args: readonly string[], until: AbortSignal): Promise<void> }>
> = {
  agent: { usage: agentUsage, run: runAgents },
  viewer: { usage: viewerUsage, run: runViewer },
  control: { usage: controlUsage, run: runControl },
  pages: { usage: pagesUsage, run: runPages },
};

async function main(): Promise<void> {
  const [word = '', ...args] = process.argv.slice(2);
  const kind = Object.hasOwn(KINDS, word) ? KINDS[word] : undefined;
  const wantsHelp = [word, ...args].some((one) => one === '--help' || one === '-h');
  if (kind === undefined || wantsHelp) {
    const usages = kind === undefined ? Object.values(KINDS).map(({ usage }) => usage) : [kind.usage];
    process.stdout.write(usages.join('\n'));
    if (!wantsHelp) process.exitCode = 2;
    return;
  }
  const until = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => until.abort());
  await kind.run(args, until.signal);
}

main()
  .catch((error: unknown) => {
    process.stderr.write(`${errorText(error)}\n`);
    process.exitCode = 1;
  })
  // Threads of the WebRTC library would keep the process alive.
  .finally(() => process.exit());
