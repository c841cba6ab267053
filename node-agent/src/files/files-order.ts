/** The agent's first message to the process that serves the files of a home. */
import { z } from 'zod';

/** File descriptor on which that process exchanges messages with the viewers. */
export const FILES_FD = 4;

export const filesOrder = z.object({
  /** The home's directory on the host. */
  home: z.string().max(4096),
  /** null: the process runs as the agent's user. */
  user: z.object({ uid: z.int(), gid: z.int(), groups: z.array(z.int()) }).nullable(),
  max_bytes: z.number(),
});
export type FilesOrder = z.infer<typeof filesOrder>;
