import { z } from 'zod';
import { jsonObject } from '../../common.ts';
import { body, dateTime, madeId, textIdParams } from '../atoms.ts';
import { exampleIds } from '../example-ids.ts';
import { operation } from '../operation.ts';

/** States of an image on a host. For a host without a row, the state is absent. */
export const hostImageStates = ['absent', 'pulling', 'building', 'ready', 'failed'] as const;

const imageId = z.string().describe('Id that the catalog gives the image.');

const imageOnHost = z.object({
  host_id: madeId.describe('Id of the host.'),
  node_name: z.string().describe('Name of the host.'),
  version: z
    .string()
    .nullable()
    .describe('Version that the host last reported; null when the image is absent, or nothing was reported.'),
  state: z.enum(hostImageStates).describe('What the host has of the image.'),
  progress_pct: z
    .int()
    .nullable()
    .describe('Part that is done, in per cent, while it is pulled or built; null otherwise, or unknown.'),
  error: z.string().nullable().describe('Why it failed, in a sentence; null in every other state.'),
  bytes: z.int().nullable().describe('Size on the disk of the host, in bytes; null unless ready and known.'),
});

/** An app image of the catalog, with its state on the instance and its hosts. */
export const catalogImage = z
  .object({
    id: imageId,
    display_name: z.string().describe('Name for people.'),
    description: z.string().describe('A few sentences; "" is none.'),
    kind: z
      .enum(['prebuilt', 'template'])
      .describe('prebuilt: hosts pull it from a registry. template: hosts build it themselves.'),
    version: z.string().describe('Version that the catalog has now.'),
    registry_ref: z
      .string()
      .nullable()
      .describe('Name of the image in its registry, as the catalog has it; null for a template.'),
    registry_digest: z
      .string()
      .nullable()
      .describe('The same by its digest, `name@sha256:…`; null until the registry has reported it.'),
    artwork: jsonObject.meta({ type: 'object' }).describe('Pictures that the catalog names, such as `tile`.'),
    library_provider: z
      .string()
      .nullable()
      .describe('Library whose titles discovery finds in this image; null for other images.'),
    installed: z.boolean().describe('Apps may use it, and hosts hold it or fetch it.'),
    installed_version: z.string().nullable().describe('Version in use; null when not installed.'),
    pinned: z.boolean().describe('It keeps its version whatever the catalog has.'),
    lazy: z.boolean().describe('Each host fetches it with the first launch there, and not before.'),
    runtime_preset_id: z
      .string()
      .nullable()
      .describe('Preset that was made at the installation; null when not installed, or it needs none.'),
    update_available: z
      .boolean()
      .describe('It is installed, and the version of the catalog is newer, whether or not it is pinned.'),
    hosts: z.array(imageOnHost).describe('Every known host, by name.'),
  })
  .meta({ id: 'Image', description: 'An app image of the catalog.' });
export type CatalogImage = z.output<typeof catalogImage>;

/** The catalog in the form in which it was last read, with its origin and the images. */
export const imageCatalog = z
  .object({
    manifest_version: z.int().nullable().describe('Form of the manifest; null before the first one.'),
    catalog_ref: z.string().describe('Branch, tag or commit of the catalog.'),
    fetched_at: dateTime
      .nullable()
      .describe('When the catalog here was fetched; null before the first time.'),
    sync_error: z
      .string()
      .nullable()
      .describe('What went wrong at the last synchronisation, for people; null when nothing did.'),
    manifest_provenance: z
      .object({
        sha256: z.string().describe('SHA-256 of the manifest, in hexadecimal digits.'),
        previous_sha256: z
          .string()
          .nullable()
          .describe('SHA-256 of the manifest before the last change; null if there was none.'),
        commit_sha: z.string().nullable().describe('Commit that it comes from; null when not known.'),
        ref: z.string().describe('Branch, tag or commit that was asked for.'),
        url: z.string().describe('Address that it was fetched from.'),
        changed: z
          .boolean()
          .describe('The last synchronisation brought another manifest than the one before.'),
        changed_at: dateTime.nullable().describe('When that happened last; null if never.'),
      })
      .nullable()
      .describe('Where the catalog here comes from; null before the first one.'),
    images: z.array(catalogImage).describe('The images, by display name, then id.'),
  })
  .meta({ id: 'ImageCatalog', description: 'The image catalog, and what the instance has of it.' });
export type ImageCatalog = z.output<typeof imageCatalog>;

const exampleImage = {
  id: 'retro',
  display_name: 'Retro games',
  description: 'Emulators for old consoles',
  kind: 'prebuilt' as const,
  version: '1.4.0',
  registry_ref: 'ghcr.io/example/retro:1.4.0',
  registry_digest: `ghcr.io/example/retro@sha256:${'4a'.repeat(32)}`,
  artwork: { tile: 'https://ghcr.io/example/retro.png' },
  library_provider: null,
  installed: true,
  installed_version: '1.4.0',
  pinned: false,
  lazy: false,
  runtime_preset_id: exampleIds.preset,
  update_available: false,
  hosts: [
    {
      host_id: exampleIds.host,
      node_name: 'hosta',
      version: '1.4.0',
      state: 'ready' as const,
      progress_pct: null,
      error: null,
      bytes: 734_003_200,
    },
  ],
};
const exampleCatalog = {
  manifest_version: 1,
  catalog_ref: 'stable',
  fetched_at: '2026-11-20T12:00:00.000Z',
  sync_error: null,
  manifest_provenance: {
    sha256: 'c3'.repeat(32),
    previous_sha256: null,
    commit_sha: null,
    ref: 'stable',
    url: 'https://raw.githubusercontent.com/example/images/stable/image-manifest.json',
    changed: false,
    changed_at: null,
  },
  images: [exampleImage],
};

const UNKNOWN = 'The catalog has no image of this id.';
const NOT_INSTALLED = 'The image is not installed.';
const NO_DIGEST = 'The image is prebuilt, and its registry has not reported its digest yet.';
const NO_CONTEXT = 'The image is a template, and the commit to build it from is not known.';

const params = textIdParams;
const path = { params: { id: 'retro' } };

export const imageOperations = {
  'images.list': operation({
    id: 'images.list',
    method: 'GET',
    path: '/v1/admin/images',
    auth: 'admin',
    summary: 'The image catalog, with what is installed and what hosts have',
    responses: { 200: imageCatalog },
    example: { response: exampleCatalog },
  }),
  'images.sync': operation({
    id: 'images.sync',
    method: 'POST',
    path: '/v1/admin/images/sync',
    auth: 'admin',
    summary: 'Fetch the catalog again',
    description:
      'Fetches the manifest, asks the registries for digests, and applies the update policy. A catalog that cannot be fetched or is not valid changes nothing: the answer is 200, and `sync_error` says why.',
    responses: { 200: imageCatalog },
    example: { response: exampleCatalog },
  }),
  'images.install': operation({
    id: 'images.install',
    method: 'POST',
    path: '/v1/admin/images/{id}/install',
    auth: 'admin',
    summary: 'Install an image on all hosts',
    description:
      'The image is used by its digest from then on. Where the catalog says how its apps run, a runtime preset is made or taken over.',
    params,
    body: {
      optional: true,
      schema: body({
        lazy: z
          .boolean()
          .optional()
          .describe('true: each host fetches it with the first launch there. Left out: all hosts, at once.'),
      }),
    },
    responses: { 201: z.object({ image: catalogImage }) },
    refusals: {
      not_found: UNKNOWN,
      already_installed: 'The image is installed.',
      digest_unresolved: NO_DIGEST,
      context_unresolved: NO_CONTEXT,
    },
    example: { ...path, body: { lazy: false }, response: { image: exampleImage } },
  }),
  'images.uninstall': operation({
    id: 'images.uninstall',
    method: 'DELETE',
    path: '/v1/admin/images/{id}/install',
    auth: 'admin',
    summary: 'Remove an image from the instance and its hosts; its runtime preset stays',
    params,
    responses: { 204: null },
    refusals: {
      not_found: UNKNOWN,
      not_installed: NOT_INSTALLED,
      provider_enabled: 'Discovery is on, and finds titles in this image.',
    },
    example: path,
  }),
  'images.pin': operation({
    id: 'images.pin',
    method: 'POST',
    path: '/v1/admin/images/{id}/pin',
    auth: 'admin',
    summary: 'Keep the installed version of an image',
    params,
    responses: { 204: null },
    refusals: { not_installed: 'There is no such image, or it is not installed.' },
    example: path,
  }),
  'images.unpin': operation({
    id: 'images.unpin',
    method: 'DELETE',
    path: '/v1/admin/images/{id}/pin',
    auth: 'admin',
    summary: 'Let an image be updated again',
    params,
    responses: { 204: null },
    refusals: { not_installed: 'There is no such image, or it is not installed.' },
    example: path,
  }),
  'images.update': operation({
    id: 'images.update',
    method: 'POST',
    path: '/v1/admin/images/{id}/update',
    auth: 'admin',
    summary: 'Use the version that the catalog has now, on all hosts',
    params,
    responses: {
      200: z.object({
        applied: z.boolean().describe('false: this version was installed already.'),
        image: catalogImage,
      }),
    },
    refusals: {
      not_found: UNKNOWN,
      not_installed: NOT_INSTALLED,
      conflict: 'The image is pinned.',
      digest_unresolved: NO_DIGEST,
      context_unresolved: NO_CONTEXT,
    },
    example: { ...path, response: { applied: true, image: exampleImage } },
  }),
} as const;
