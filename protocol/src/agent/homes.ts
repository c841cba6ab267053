/**
 * Bodies of the agent's calls about the deletion of homes. Unknown keys are ignored, because the other side may be
 * newer.
 */
import { z } from 'zod';
import { count, text, uuid } from '../common.ts';

/**
 * Largest number of homes in one answer and in one confirmation. Both bodies stay below 64 KiB. Chosen, not measured.
 */
export const MAX_COLLECTED_HOMES = 100;
/** Longest cursor of the list, in characters. */
export const MAX_GC_CURSOR = 1024;
/** Largest body of a confirmation, in bytes. */
export const MAX_GC_CONFIRM_BYTES = 64 * 1024;

const homeIds = z.array(uuid).max(MAX_COLLECTED_HOMES);

const dueHome = z
  .object({
    id: uuid.describe('Id of the home.'),
    provider: z.enum(['local', 'volume']).describe('`local`: a directory; `volume`: an engine volume.'),
    ref: text(512).describe('Path of the directory on the host, or name of the volume.'),
  })
  .meta({ id: 'DueHome', description: 'A home that its host shall collect.' });
export type DueHome = z.output<typeof dueHome>;

export const gcPendingSchema = z.object({
  homes: z
    .array(dueHome)
    .max(MAX_COLLECTED_HOMES)
    .describe('The homes that wait longest come first; empty: nothing is due.'),
  next_cursor: z
    .string()
    .max(MAX_GC_CURSOR)
    .nullable()
    .optional()
    .describe('Cursor of the next homes; null or left out: there are no more.'),
});
export type GcPending = z.output<typeof gcPendingSchema>;

export const gcConfirmSchema = z.object({
  home_ids: homeIds.min(1).describe('Homes whose directories the host has moved aside.'),
});
export type GcConfirm = z.output<typeof gcConfirmSchema>;

export const gcConfirmedSchema = z.object({
  deleted: count.describe('Length of `deleted_ids`.'),
  deleted_ids: homeIds.describe('Homes without a record on this host: the host deletes their files.'),
  kept_ids: homeIds.describe('Homes in use again, or within their grace: the host puts their files back.'),
});
export type GcConfirmed = z.output<typeof gcConfirmedSchema>;
