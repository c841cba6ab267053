/** The text of a captured log. Pure. Source: docs/recordings.md, "What leaves the host, and the service". */
import { maskSecrets } from '@footlight/platform';

/** Data that a session's log text must not contain. */
export interface Hidden {
  /** Values of the environment variables of the session's apps. */
  values: readonly string[];
  /** Paths below this directory are kept. */
  scratchDir: string;
}

/** Matches an absolute path with at least one folder, but not the path of a URL. */
const PATH = /(?<![\w:/.~-])\/(?:[\w.+@%~-]+\/)+[\w.+@%~-]*/g;

/**
 * @param ofAgent, ofApp lines, oldest first
 * @param lines largest number of lines in the result. Half of them are lines of the agent; more if the app does not
 * have enough lines for the other half.
 * @returns lines of the agent, then of the app, each with its source; "": no lines
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

/**
 * Masks credentials and values of environment variables, and removes folder names outside the session's scratch
 * directory.
 */
export function withoutSecrets(text: string, { values, scratchDir }: Hidden): string {
  return withoutFolders(maskSecrets(text, values), scratchDir);
}

/** Shortens paths outside the session's scratch directory to their last name. */
export function withoutFolders(text: string, scratchDir: string): string {
  return text.replace(PATH, (path) =>
    path.startsWith(`${scratchDir}/`) ? path : `…/${path.split('/').at(-1)}`,
  );
}

const newest = (lines: readonly string[], count: number) => (count <= 0 ? [] : lines.slice(-count));
