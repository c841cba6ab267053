/**
 * Bus subjects of images. The replica with a host's link makes the requests to that host, because the host reports their
 * results to this replica.
 */
import { z } from 'zod';

export const imageSubjects = {
  /** A host should fetch this version of an image. The key is the host's id. */
  wanted: { name: 'image.wanted', payload: z.object({ image_id: z.string(), version: z.string() }) },
  /** The image is no longer installed. The key is its id. */
  removed: { name: 'image.removed', payload: z.object({}) },
} as const;
