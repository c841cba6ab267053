import { z } from 'zod';

/** Bus subjects of recordings, answered by a replica whose administrator waits. */
export const recordingSubjects = {
  /** The key is the recording's id. The answer names the way for its bytes; null: nobody waits. */
  begin: {
    name: 'recording.begin',
    payload: z.object({ host_id: z.string(), bytes: z.number() }),
    reply: z.object({ way: z.string().nullable() }),
  },
  /** The key is the way. The next bytes as base64; null: no more, and `whole` says whether all came. Answered when they were taken. */
  chunk: {
    name: 'recording.chunk',
    payload: z.object({ data: z.string().nullable(), whole: z.boolean() }),
    reply: z.object({ goesOn: z.boolean() }),
  },
} as const;
