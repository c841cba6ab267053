/** Checks and reads the manifest of the image catalog. Pure. Source: docs/containers.md, "The manifest". */
import { hasTooManyValues, isShallow, stripControls } from '@footlight/protocol';
import { absolutePath, environment, network } from '@footlight/protocol/rest';
import { z } from 'zod';
import { refuseMounts } from '../../catalog/index.ts';
import { parseReference } from './reference.ts';

/** An agent lists at most this many images when it registers (`register.images`). */
const MAX_IMAGES = 256;
/** Limits of the fields that a launch sends to an agent. Source: `appSpecSchema` of the protocol. */
const MAX_ARGS = 128;
const MAX_VARIABLES = 256;
const MAX_MOUNTS = 64;
/** Maximum entries of `image_build.build_args`. */
const MAX_BUILD_ARGS = 64;
/** Maximum length of a reason. It names one field and becomes part of `sync_error`. */
const MAX_REASON_CHARACTERS = 300;

/**
 * An image id. It becomes part of the image's name on a host, `service-local/<id>`. Source: the grammar of names in
 * distribution/reference.
 */
const ID = /^[a-z0-9]+(?:[._-][a-z0-9]+)*$/;
/** A version. It becomes a tag on a host. Source: the same grammar. */
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;

/** Text for people. Control characters are removed, also NUL, which Postgres cannot store. */
const shown = (max: number) => z.string().max(max).overwrite(stripControls);
const named = (max: number) => shown(max).refine((value) => value.trim() !== '', { error: 'is blank' });
const plain = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => !value.includes('\0'), { error: 'has a NUL character' });

const absent = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? null);

const variables = (max: number) =>
  environment.refine((value) => Object.keys(value).length <= max, { error: 'has too many entries' });

/** Run settings for apps of an image. null: the manifest does not set the field. */
const runtimeBlock = z.object({
  preset_name: absent(named(128)),
  gpu: absent(z.boolean()),
  no_new_privileges: absent(z.boolean()),
  systempaths_unconfined: absent(z.boolean()),
  managed_home: absent(z.boolean()),
  home_container_path: absent(absolutePath.refine((value) => value.length <= 512, { error: 'is too long' })),
  args: absent(z.array(plain(4096)).max(MAX_ARGS)),
  env: absent(variables(MAX_VARIABLES)),
  mounts: absent(
    z
      .array(plain(1024))
      .max(MAX_MOUNTS)
      .superRefine((mounts, context) => {
        const why = refuseMounts('mounts', mounts);
        if (why !== null) context.addIssue({ code: 'custom', message: why });
      }),
  ),
  network: absent(network),
});

const manifestImage = z
  .object({
    id: z.string().max(128).regex(ID, { error: 'is no name such as retro-games' }),
    display_name: named(256),
    description: absent(shown(4096)).transform((value) => value ?? ''),
    kind: z.enum(['prebuilt', 'template']),
    version: z
      .string()
      .max(128)
      .regex(/^[\x21-\x7e]+$/, { error: 'is no version' }),
    registry_ref: absent(z.string().max(400)),
    dockerfile: absent(plain(256)),
    build_args: absent(variables(MAX_BUILD_ARGS)).transform((value) => value ?? {}),
    artwork: absent(z.object({ tile: absent(shown(2048)) })).transform((value) => value ?? { tile: null }),
    runtime: absent(runtimeBlock),
    library_provider: absent(z.string().regex(/^[a-z][a-z0-9_]{0,31}$/, { error: 'is no provider' })),
    min_service_version: absent(shown(64)),
    notes: absent(shown(4096)),
  })
  .superRefine((image, context) => {
    const refuse = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (image.kind === 'prebuilt') {
      if (image.registry_ref === null) refuse('registry_ref', 'is missing');
      else if (parseReference(image.registry_ref) === null)
        refuse('registry_ref', 'is no name such as ghcr.io/example/retro:1.4');
      return;
    }
    if (image.dockerfile === null) refuse('dockerfile', 'is missing');
    else if (!isInside(image.dockerfile)) refuse('dockerfile', 'leads out of the catalog');
    if (!TAG.test(image.version)) refuse('version', 'is no tag');
  });
export type ManifestImage = z.output<typeof manifestImage>;

const manifest = z.object({
  manifest_version: z.literal(1),
  images: z.array(manifestImage).max(MAX_IMAGES),
});

/** A manifest, or a sentence that explains why the whole manifest is refused. */
export type ReadManifest = { images: readonly ManifestImage[] } | { refused: string };

/**
 * Reads a manifest. Unknown fields are ignored; any other error refuses the whole manifest.
 * @param bytes the fetched file, UTF-8
 */
export function readManifest(bytes: Buffer): ReadManifest {
  const text = bytes.toString('utf8');
  if (hasTooManyValues(text)) return { refused: 'it has too many values' };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { refused: 'it is no JSON' };
  }
  if (!isShallow(value)) return { refused: 'it is nested too deep' };
  const read = manifest.safeParse(value);
  if (!read.success) return { refused: reasonOf(read.error) };
  const seen = new Set<string>();
  for (const { id } of read.data.images) {
    if (seen.has(id)) return { refused: `two images have the id ${id}` };
    seen.add(id);
  }
  return { images: read.data.images };
}

/** The first error with its place, such as `images.2.runtime.mounts: …`. */
function reasonOf(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return 'it is not valid';
  const place = issue.path.map(String).join('.');
  const message = place === '' ? 'it is no manifest' : `${place}: ${issue.message}`;
  return stripControls(message).slice(0, MAX_REASON_CHARACTERS);
}

/** Whether a relative path stays below its folder. */
function isInside(path: string): boolean {
  return path !== '' && !path.startsWith('/') && !path.split('/').includes('..');
}
