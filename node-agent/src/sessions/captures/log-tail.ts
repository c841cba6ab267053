/** The text of a captured log. Pure. Source: docs/recordings.md, "What leaves the host, and the service". */
import { maskSecrets } from '@footlight/platform';

/** What a text of a session must not show. */
export interface Hidden {
  /** Values of the environment of the session's apps. */
  values: readonly string[];
  /** Paths below it stay. */
  scratchDir: string;
}

/** An absolute path with at least one folder; not the path of a URL. */
const PATH = /(?<![\w:/.~-])\/(?:[\w.+@%~-]+\/)+[\w.+@%~-]*/g;

/**
 * @param ofAgent, ofApp lines, oldest first
 * @param lines of the result (count). The agent gets half of them, or more where the app has fewer.
 * @returns lines of the agent, then of the app, each with its source; "" for none
 */
export function logText(
  ofAgent: readonly string[],
  ofApp: readonly string[],
  lines: number,
  hidden: Hidden,
): string {
  const agents = Math.min(ofAgent.length, Math.max(Math.floor(lines / 2), lines - ofApp.length));
  return [
    ...newest(ofAgent, agents).map((line) => `agent ${line}`),
    ...newest(ofApp, lines - agents).map((line) => `app ${line}`),
  ]
    .map((line) => `${withoutSecrets(line, hidden)}\n`)
    .join('');
}

/** Takes credentials, environment values and folders outside the session's scratch directory out of a text. */
export function withoutSecrets(text: string, { values, scratchDir }: Hidden): string {
  return withoutFolders(maskSecrets(text, values), scratchDir);
}

/** Takes the folders of paths outside the session's scratch directory out of a text. */
export function withoutFolders(text: string, scratchDir: string): string {
  return text.replace(PATH, (path) =>
    path.startsWith(`${scratchDir}/`) ? path : `…/${path.split('/').at(-1)}`,
  );
}

const newest = (lines: readonly string[], count: number) => (count <= 0 ? [] : lines.slice(-count));
