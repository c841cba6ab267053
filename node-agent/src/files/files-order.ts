/** First message from the agent to the process that serves the files of a home. */
import { z } from 'zod';

/** Descriptor of that process for the messages of viewers. */
export const FILES_FD = 4;

export const filesOrder = z.object({
  /** Its directory on the host. */
  home: z.string().max(4096),
  /** null: the agent's user. */
  user: z.object({ uid: z.int(), gid: z.int(), groups: z.array(z.int()) }).nullable(),
  max_bytes: z.number(),
});
export type FilesOrder = z.infer<typeof filesOrder>;
