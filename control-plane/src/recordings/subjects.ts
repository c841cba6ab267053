import { z } from 'zod';

/** Bus subjects of recordings, answered by the replica on which the administrator waits. */
export const recordingSubjects = {
  /**
   * The key is the recording's id. The answer is the id of the transfer for its bytes; null: no administrator waits.
   */
  begin: {
    name: 'recording.begin',
    payload: z.object({ host_id: z.string(), bytes: z.number() }),
    reply: z.object({ way: z.string().nullable() }),
  },
  /**
   * The key is the id of the transfer. data: the next bytes as base64; null: the end, and `whole` tells whether all
   * bytes arrived. The answer is sent when the bytes were accepted.
   */
  chunk: {
    name: 'recording.chunk',
    payload: z.object({ data: z.string().nullable(), whole: z.boolean() }),
    reply: z.object({ goesOn: z.boolean() }),
  },
} as const;
