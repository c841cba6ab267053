/** Messages of the data channel `files`: JSON texts, and binary frames that begin with the number of their transfer. */
import { z } from 'zod';
import { count, createFrameParser, text, utf8Length } from '../common.ts';

/** Largest number of bytes in a binary frame after the transfer's number. */
export const FILE_CHUNK_BYTES = 64 * 1024;
const ID_BYTES = 4;
/** Largest number of concurrent transfers of a viewer. */
export const MAX_FILE_TRANSFERS = 4;
/**
 * Largest number of bytes in the channel's buffer, in each direction. A sender waits until fewer bytes are buffered.
 */
export const FILES_BUFFER_BYTES = 1024 * 1024;
export const MAX_LISTED_FILES = 1000;
/** Folder of the home for files that a person drops on the page. */
export const UPLOADS_FOLDER = 'Uploads';
const MAX_PATH_BYTES = 1024;
/** Longest name of a file on Linux. Source: limits.h, NAME_MAX. */
const MAX_NAME_BYTES = 255;

const id = z.int().min(0).max(0xffff_ffff);
const path = text(MAX_PATH_BYTES);

const listSchema = z.object({ type: z.literal('list'), id, path });
const putSchema = z.object({ type: z.literal('put'), id, path, size: count });
const getSchema = z.object({ type: z.literal('get'), id, path });
const deleteSchema = z.object({ type: z.literal('delete'), id, path });
/** Gives the file or folder at the path another name in the same folder. Only for hosts with `file_names`. */
const renameSchema = z.object({ type: z.literal('rename'), id, path, name: text(MAX_NAME_BYTES) });
/** Makes an empty folder at the path; the folder around it must exist. Only for hosts with `file_names`. */
const mkdirSchema = z.object({ type: z.literal('mkdir'), id, path });
const cancelSchema = z.object({ type: z.literal('cancel'), id });

export const FILE_FAILURES = [
  'not_found',
  'not_allowed',
  'too_large',
  'no_space',
  'busy',
  'exists',
  'io',
] as const;
export type FileFailure = (typeof FILE_FAILURES)[number];

const entrySchema = z.object({
  name: text(MAX_NAME_BYTES),
  kind: z.enum(['file', 'folder', 'other']),
  size: count,
  mtime_ms: z.number(),
});
/** truncated: whether the folder contains more entries. */
const listingSchema = z.object({
  type: z.literal('listing'),
  id,
  entries: z.array(entrySchema).max(MAX_LISTED_FILES),
  truncated: z.boolean(),
});
/** size: size in bytes of a file that is fetched. */
const readySchema = z.object({ type: z.literal('ready'), id, size: count.optional() });
/** path: path at which a sent file was stored. */
const doneSchema = z.object({ type: z.literal('done'), id, path: path.optional() });
const failedSchema = z.object({ type: z.literal('failed'), id, code: z.enum(FILE_FAILURES) });

const viewerFiles = z.discriminatedUnion('type', [
  listSchema,
  putSchema,
  getSchema,
  deleteSchema,
  renameSchema,
  mkdirSchema,
  cancelSchema,
]);
const agentFiles = z.discriminatedUnion('type', [
  listingSchema,
  readySchema,
  doneSchema,
  failedSchema,
  cancelSchema,
]);
export type ViewerFiles = z.infer<typeof viewerFiles>;
export type AgentFiles = z.infer<typeof agentFiles>;
export type FileEntry = z.infer<typeof entrySchema>;

/** Reads one text frame that a viewer sent. Never throws. */
export const parseViewerFiles = createFrameParser(viewerFiles);
/** Reads one text frame that an agent sent. Never throws. */
export const parseAgentFiles = createFrameParser(agentFiles);

/** Encodes a binary frame of a transfer. */
export function encodeChunk(transfer: number, data: Uint8Array): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(ID_BYTES + data.length);
  new DataView(frame.buffer).setUint32(0, transfer, true);
  frame.set(data, ID_BYTES);
  return frame;
}

/** @returns null: the frame is too short or too long */
export function decodeChunk(frame: Uint8Array): { id: number; data: Uint8Array } | null {
  if (frame.length < ID_BYTES || frame.length > ID_BYTES + FILE_CHUNK_BYTES) return null;
  const number = new DataView(frame.buffer, frame.byteOffset, ID_BYTES).getUint32(0, true);
  return { id: number, data: frame.subarray(ID_BYTES) };
}

/** Control characters, lone surrogates, and characters that separate lines or change the direction of text. */
const CONTROLS = /[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/** Whether a viewer may see and use a name in the home. */
export function isFileName(name: string): boolean {
  if (name === '' || name === '.' || name === '..' || name.includes('/')) return false;
  return !CONTROLS.test(name) && utf8Length(name) <= MAX_NAME_BYTES;
}

/** Splits a path relative to the home into names; "": the home itself. @returns null: the path is refused. Pure. */
export function fileNames(relative: string): string[] | null {
  if (relative === '') return [];
  const names = relative.split('/');
  return utf8Length(relative) <= MAX_PATH_BYTES && names.every(isFileName) ? names : null;
}
