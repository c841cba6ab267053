import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'vitest';
import { startAdmission } from './admission.ts';

// The program launches once before it reports that it is ready.
test('the admission bench can launch an app of the large catalog', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'footlight-admission-'));
  try {
    const worker = await startAdmission(directory, null);
    await worker.stop();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
