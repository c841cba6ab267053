import { mkdirSync } from 'node:fs';
import path from 'node:path';

/**
 * Saves files about something that is running.
 * @param file returns the path of an evidence file; its argument is the last part of this path
 */
export type SaveEvidence = (file: (name: string) => string) => Promise<void> | void;

const sources = new Set<SaveEvidence>();

/**
 * Registers the evidence of a failed test: pictures of browsers, logs of stacks.
 * @returns a function that removes it
 */
export function addEvidence(save: SaveEvidence): () => void {
  sources.add(save);
  return () => sources.delete(save);
}

const plain = (text: string): string => text.replaceAll(/[^\w.-]+/g, '-').slice(0, 80);

/**
 * Saves everything that is registered. Evidence that is not available, for example of a crashed page, is left out, so
 * that the test's own error is reported.
 * @param folder created if absent
 */
export async function saveEvidence(folder: string, testFile: string, test: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  let source = 0;
  for (const save of sources) {
    source++;
    const start = `${plain(path.basename(testFile))}_${plain(test)}_${source}-`;
    try {
      await save((name) => path.join(folder, `${start}${name}`));
    } catch {
      // Evidence that is not available is left out.
    }
  }
}
