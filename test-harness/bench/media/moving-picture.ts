import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { repositoryRoot } from '../../src/stack/program.ts';
import { ended, START_LIMIT_MS } from './agent-worker.ts';

/**
 * Shows an animated picture on a display. The picture uses an encoder's full bitrate at any size. Resolves after the
 * first drawing.
 */
export async function startMovingPicture(
  display: string,
  { width, height, fps }: { width: number; height: number; fps: number },
): Promise<{ stop(): Promise<void> }> {
  const child = spawn(
    '/usr/bin/python3',
    [
      path.join(repositoryRoot, 'test-harness', 'bench', 'media', 'moving-picture.py'),
      display,
      ...[width, height, fps].map(String),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  try {
    // The program's only output.
    await once(child.stdout, 'data', { signal: AbortSignal.timeout(START_LIMIT_MS) });
  } catch {
    await ended(child);
    throw new Error('The picture was never drawn');
  }
  return { stop: () => ended(child) };
}
