import { mkdirSync } from 'node:fs';
import path from 'node:path';

/** Saves files about something that runs. @param file gives the path of a file by its last part */
export type SaveEvidence = (file: (name: string) => string) => Promise<void> | void;

const sources = new Set<SaveEvidence>();

/** Registers what a failed test leaves: browsers their pictures, stacks their logs. @returns removes it again */
export function addEvidence(save: SaveEvidence): () => void {
  sources.add(save);
  return () => sources.delete(save);
}

const plain = (text: string): string => text.replaceAll(/[^\w.-]+/g, '-').slice(0, 80);

/**
 * Saves everything that is registered. Evidence that cannot be had, as of a page that has crashed, is left out: the
 * test's own error counts.
 * @param folder made if absent
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
      // As said above.
    }
  }
}
