import { z } from 'zod';

/** Bus subjects of recordings, answered by a replica whose administrator waits. */
export const recordingSubjects = {
  /** The key is the recording's id. The answer is the id of the transfer for its bytes; null: nobody waits. */
  begin: {
    name: 'recording.begin',
    payload: z.object({ host_id: z.string(), bytes: z.number() }),
    reply: z.object({ way: z.string().nullable() }),
  },
  /**
   * The key is the id of the transfer. The next bytes as base64; null: the end, and `whole` says whether all arrived.
   * Answered when the bytes were accepted.
   */
  chunk: {
    name: 'recording.chunk',
    payload: z.object({ data: z.string().nullable(), whole: z.boolean() }),
    reply: z.object({ goesOn: z.boolean() }),
  },
} as const;
