/** Set-up of each end-to-end file: a failed test stores pictures and logs in the folder of FOOTLIGHT_TEST_RESULTS. */
import { afterEach } from 'vitest';
import { saveEvidence } from './evidence.ts';

afterEach(async ({ task }) => {
  const folder = process.env.FOOTLIGHT_TEST_RESULTS;
  if (folder !== undefined && task.result?.state === 'fail')
    await saveEvidence(folder, task.file.name, task.name);
});
