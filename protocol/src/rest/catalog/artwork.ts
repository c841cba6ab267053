import { z } from 'zod';
import { body, bytes, dateTime, idParams, string } from '../atoms.ts';
import { exampleIds } from '../example-ids.ts';
import { operation } from '../operation.ts';

/** Largest picture in bytes if the server has no other limit. Chosen with a margin for a PNG of 1,920 × 1,080. */
export const DEFAULT_ARTWORK_BYTES = 8 * 1024 * 1024;

/** Widths in pixels in which a picture can be requested. */
export const ARTWORK_WIDTHS = [300, 600, 1200] as const;
export type ArtworkWidth = (typeof ARTWORK_WIDTHS)[number];

/** The two shapes of an app's picture: portrait 2:3, and wide. */
const artworkCrop = z.enum(['tile', 'hero']);
export type ArtworkCrop = z.output<typeof artworkCrop>;

const picturePath = (what: string) =>
  z
    .string()
    .nullable()
    .describe(`Path of the ${what} on this server, /v1/artwork/…; null when there is none.`);

/** Source and match of an app's pictures. */
export const artworkRecord = z
  .object({
    app_id: z.string().describe('Id of the app; it has one record at most.'),
    source: z
      .enum(['provider', 'manual', 'none'])
      .describe(
        'provider: matched and fetched by itself. manual: picked, named or uploaded by an administrator. none: looked for and not found, so it is not looked for again.',
      ),
    provider: z.string().describe('Name of the provider that the pictures came from; "" when from none.'),
    provider_ref: z.string().describe('The provider\'s id of the title; "" when from no provider.'),
    matched_name: z.string().describe('The provider\'s name of the title; "" when from no provider.'),
    tile_url: picturePath('portrait picture (2:3)'),
    hero_url: picturePath('wide picture'),
    attribution: z.string().describe('Credit line to show beside the pictures; "" when none is due.'),
    locked: z.boolean().describe('True: an administrator chose, and no automatic match replaces it.'),
    updated_at: dateTime.describe('Time of the last change.'),
  })
  .meta({ id: 'Artwork', description: 'Whose picture an app shows, and how it was found.' });
export type ArtworkRecord = z.output<typeof artworkRecord>;

const provider = {
  provider_configured: z.boolean().describe('Whether pictures can be looked up at a provider now.'),
  provider_name: z.string().describe('Name of the provider; "" when the lookup is switched off.'),
  provider_origin: z
    .enum(['none', 'database', 'environment', 'static'])
    .describe("Where the provider's key comes from; none: there is no key that can be used."),
};

export const artworkEnvelope = z
  .object({
    artwork: artworkRecord.nullable().describe('The record; null when nobody has looked or chosen yet.'),
    ...provider,
    provider_problem: z
      .string()
      .optional()
      .describe('Why a stored key cannot be used; left out when nothing is wrong. Never a part of a key.'),
  })
  .meta({ id: 'AppArtwork', description: 'The pictures of one app, and what is known of the provider.' });
export type ArtworkEnvelope = z.output<typeof artworkEnvelope>;

/** A title of the provider that an administrator may pick. */
export const artworkCandidate = z
  .object({
    ref: z.string().describe("The provider's id of the title, for `provider_ref`."),
    name: z.string().describe("The provider's name of the title."),
    thumb_url: z
      .string()
      .nullable()
      .describe('Address of a small picture at the provider, for the record only; null when there is none.'),
    thumb_data: z
      .string()
      .nullable()
      .describe('That picture as a data URL of at most 32 KiB, to be shown; null when it could not be had.'),
  })
  .meta({ id: 'ArtworkCandidate', description: 'A title of the provider that may be picked.' });
export type ArtworkCandidate = z.output<typeof artworkCandidate>;

const isNamed = (value: string | undefined): boolean => value !== undefined && value.trim() !== '';

const setBody = body({
  rematch: z.boolean().optional().describe('True: run the automatic match again and ignore other fields.'),
  force: z.boolean().optional().describe('True: rematch even where an administrator has chosen.'),
  provider_ref: string({ max: 64 })
    .optional()
    .describe('Take the pictures of this title of the provider. Takes precedence over the addresses.'),
  tile_url: string({ max: 2048 })
    .optional()
    .describe('Fetch the portrait picture from this public http(s) address. Left out: it stays.'),
  hero_url: string({ max: 2048 })
    .optional()
    .describe('Fetch the wide picture from this public http(s) address. Left out: it stays.'),
}).refine(
  (sent) =>
    sent.rematch === true || isNamed(sent.provider_ref) || isNamed(sent.tile_url) || isNamed(sent.hero_url),
  { error: 'one of rematch, provider_ref, tile_url and hero_url is needed' },
);

const KIB = 1024;
const ASSET = `${'3f9a'.repeat(16)}.jpg`;
const FOLDER = 'The folder of the pictures cannot be used (503); comes before the body is read.';
const NO_APP = 'There is no such app.';
const PROVIDER_AWAY = 'The provider answered 429, a failure, nothing or nonsense; nothing was written.';

const exampleProvider = {
  provider_configured: true,
  provider_name: 'steamgriddb',
  provider_origin: 'database' as const,
};
const exampleEnvelope = {
  artwork: {
    app_id: exampleIds.app,
    source: 'manual' as const,
    provider: '',
    provider_ref: '',
    matched_name: '',
    tile_url: `/v1/artwork/${ASSET}`,
    hero_url: null,
    attribution: '',
    locked: true,
    updated_at: '2026-06-02T12:00:00.000Z',
  },
  ...exampleProvider,
};

export const artworkOperations = {
  'artwork.read': operation({
    id: 'artwork.read',
    method: 'GET',
    path: '/v1/artwork/{asset}',
    auth: 'public',
    summary: 'One stored picture, as it was uploaded or in one of three widths',
    params: z.object({
      asset: z.string().describe('SHA-256 of the bytes in lower-case hex, then .jpg, .png or .webp.'),
    }),
    query: z.object({
      w: z
        .enum(ARTWORK_WIDTHS.map(String) as [`${ArtworkWidth}`])
        .transform((text) => Number(text) as ArtworkWidth)
        .optional()
        .describe(
          'Width in pixels; the answer is WebP then, or the picture as it is where it cannot be decoded. Left out: as it is.',
        ),
    }),
    responses: { 200: bytes, 304: null },
    refusals: {
      not_found: 'The name is not that of an asset, or no such asset is stored.',
      internal: 'The folder of the pictures cannot be used, or too many sizes wait to be made.',
    },
    contentType: 'image/*',
    headers: { ETag: 'Version of these bytes; with it in `If-None-Match` the answer has no body.' },
    example: { params: { asset: ASSET }, query: { w: '300' } },
  }),
  'artwork.envelope': operation({
    id: 'artwork.envelope',
    method: 'GET',
    path: '/v1/admin/apps/{id}/artwork',
    auth: 'admin',
    summary: "An app's artwork record and the state of the provider",
    params: idParams,
    responses: { 200: artworkEnvelope },
    refusals: { internal: FOLDER, not_found: NO_APP },
    example: { params: { id: exampleIds.app }, response: exampleEnvelope },
  }),
  'artwork.set': operation({
    id: 'artwork.set',
    method: 'PUT',
    path: '/v1/admin/apps/{id}/artwork',
    auth: 'admin',
    summary: 'Match again, take a title of the provider, or fetch pictures from addresses',
    params: idParams,
    body: { schema: setBody, maxBytes: 16 * KIB },
    responses: { 200: artworkEnvelope },
    refusals: {
      internal: FOLDER,
      not_found: NO_APP,
      conflict:
        'No provider is configured for rematch or provider_ref, or the record is locked and force is not set.',
      provider_unavailable: PROVIDER_AWAY,
    },
    example: {
      params: { id: exampleIds.app },
      body: { tile_url: 'https://pictures.example/tile.jpg' },
      response: exampleEnvelope,
    },
  }),
  'artwork.clear': operation({
    id: 'artwork.clear',
    method: 'DELETE',
    path: '/v1/admin/apps/{id}/artwork',
    auth: 'admin',
    summary: "Remove an app's record and pictures; the next sweep may look again",
    params: idParams,
    responses: { 204: null },
    refusals: { internal: FOLDER, not_found: NO_APP },
    example: { params: { id: exampleIds.app } },
  }),
  'artwork.search': operation({
    id: 'artwork.search',
    method: 'POST',
    path: '/v1/admin/apps/{id}/artwork/search',
    auth: 'admin',
    summary: 'Titles of the provider that may be this app; writes nothing',
    params: idParams,
    body: {
      schema: body({
        query: string({ max: 200 })
          .optional()
          .describe("What to search for; left out or blank: the app's name."),
      }),
      maxBytes: 8 * KIB,
      optional: true,
    },
    responses: {
      200: z.object({
        candidates: z.array(artworkCandidate).describe('Best first; [] when nothing was found.'),
        ...provider,
      }),
    },
    refusals: {
      internal: FOLDER,
      not_found: NO_APP,
      conflict: 'No provider is configured.',
      provider_unavailable: PROVIDER_AWAY,
    },
    example: {
      params: { id: exampleIds.app },
      body: { query: 'Sample Quest' },
      response: {
        candidates: [
          {
            ref: '4711',
            name: 'Sample Quest',
            thumb_url: 'https://pictures.example/thumb.png',
            thumb_data: 'data:image/webp;base64,UklGRg==',
          },
        ],
        ...exampleProvider,
      },
    },
  }),
  'artwork.upload': operation({
    id: 'artwork.upload',
    method: 'POST',
    path: '/v1/admin/apps/{id}/artwork/upload',
    auth: 'admin',
    summary: 'Store a JPEG, PNG or WebP as a picture of an app and lock its record',
    params: idParams,
    query: z.object({
      crop: artworkCrop
        .default('tile')
        .describe('Which picture it becomes: tile (2:3 portrait) or hero (wide). The other one stays.'),
    }),
    upload: { mediaType: 'image/*', defaultMaxBytes: DEFAULT_ARTWORK_BYTES },
    responses: { 200: artworkEnvelope },
    refusals: { internal: FOLDER, not_found: NO_APP },
    example: { params: { id: exampleIds.app }, query: { crop: 'tile' }, response: exampleEnvelope },
  }),
  'artwork.reresolve': operation({
    id: 'artwork.reresolve',
    method: 'POST',
    path: '/v1/admin/artwork/reresolve',
    auth: 'admin',
    summary: 'Run the automatic match again for every app',
    body: {
      schema: body({
        force: z.boolean().default(false).describe('True: also where an administrator has chosen.'),
      }),
      maxBytes: 8 * KIB,
      optional: true,
    },
    responses: {
      200: z.object({
        total: z.int().describe('Apps there were.'),
        resolved: z.int().describe('Apps that got pictures.'),
        skipped_locked: z.int().describe('Apps left alone because an administrator has chosen.'),
        failed: z.int().describe('Apps left as they were because the provider failed.'),
      }),
    },
    refusals: {
      internal: FOLDER,
      conflict: 'No provider is configured, or such a run is already under way.',
    },
    example: {
      body: { force: false },
      response: { total: 12, resolved: 9, skipped_locked: 1, failed: 0 },
    },
  }),
} as const;
