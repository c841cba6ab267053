import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readManifest } from './manifest.ts';

const PREBUILT = {
  id: 'retro',
  display_name: 'Retro games',
  kind: 'prebuilt',
  version: '1.4.0',
  registry_ref: 'ghcr.io/example/retro:1.4.0',
};
const TEMPLATE = {
  id: 'own-desk',
  display_name: 'Desk',
  kind: 'template',
  version: '3',
  dockerfile: 'desk/Containerfile',
};

const readText = (text: string) => readManifest(Buffer.from(text));
const readImages = (images: unknown, more: object = {}) =>
  readText(JSON.stringify({ manifest_version: 1, images, ...more }));

describe('a manifest', () => {
  test('needs no image, and no field beyond the named ones', () => {
    expect(readImages([])).toEqual({ images: [] });
    expect(readImages([PREBUILT, TEMPLATE])).toMatchObject({
      images: [
        { id: 'retro', description: '', runtime: null, artwork: { tile: null }, library_provider: null },
        { id: 'own-desk', build_args: {}, registry_ref: null },
      ],
    });
  });

  test('may have unknown fields anywhere', () => {
    const odd = { ...PREBUILT, privileged: true, runtime: { devices: ['/dev/kmsg'], gpu: true } };
    const read = readImages([odd], { signature: 'x' });
    expect(read).toMatchObject({ images: [{ runtime: { gpu: true } }] });
    expect(JSON.stringify(read)).not.toMatch(/privileged|devices|signature/);
  });

  test('says how apps run', () => {
    const runtime = {
      preset_name: 'Retro',
      gpu: true,
      no_new_privileges: true,
      systempaths_unconfined: false,
      managed_home: true,
      home_container_path: '/home/retro',
      args: ['--fullscreen'],
      env: { SDL_VIDEODRIVER: 'x11' },
      mounts: ['/srv/roms:/roms:ro'],
      network: 'bridge',
    };
    expect(readImages([{ ...PREBUILT, runtime }])).toMatchObject({ images: [{ runtime }] });
  });
});

describe('a manifest is refused as a whole, with its fault, when', () => {
  const withRuntime = (runtime: unknown) => [TEMPLATE, { ...PREBUILT, runtime }];
  test.each<[string, unknown, string]>([
    ['images are missing', undefined, 'images'],
    ['images are null', null, 'images'],
    ['images are an object', {}, 'images'],
    ['an id is there twice', [PREBUILT, PREBUILT], 'two images have the id retro'],
    ['an id is missing', [{ ...PREBUILT, id: undefined }], 'images.0.id'],
    ['an id is a path', [{ ...PREBUILT, id: '../../etc' }], 'images.0.id'],
    ['a name is missing', [{ ...PREBUILT, display_name: undefined }], 'images.0.display_name'],
    ['a name is blank', [{ ...PREBUILT, display_name: ' ' }], 'images.0.display_name'],
    ['a kind is unknown', [{ ...PREBUILT, kind: 'flatpak' }], 'images.0.kind'],
    ['a version is missing', [{ ...PREBUILT, version: undefined }], 'images.0.version'],
    ['a version has a space', [{ ...PREBUILT, version: '1 0' }], 'images.0.version'],
    ['a template has a version that is no tag', [{ ...TEMPLATE, version: 'a/b' }], 'images.0.version'],
    ['a prebuilt image has no name', [{ ...PREBUILT, registry_ref: undefined }], 'images.0.registry_ref'],
    ['a name is none', [{ ...PREBUILT, registry_ref: 'retro' }], 'images.0.registry_ref'],
    ['a template has no file', [{ ...TEMPLATE, dockerfile: undefined }], 'images.0.dockerfile'],
    ['a template leads out', [{ ...TEMPLATE, dockerfile: '../x' }], 'images.0.dockerfile'],
    ['a build argument is a number', [{ ...TEMPLATE, build_args: { A: 1 } }], 'images.0.build_args'],
    ['it mounts the root', withRuntime({ mounts: ['/:/host'] }), 'images.1.runtime.mounts'],
    ['it mounts a system folder', withRuntime({ mounts: ['/etc/shadow:/x'] }), 'images.1.runtime.mounts'],
    ['it mounts an engine', withRuntime({ mounts: ['/var/run/docker.sock:/x'] }), 'images.1.runtime.mounts'],
    ['it climbs', withRuntime({ mounts: ['/srv/../etc:/x'] }), 'images.1.runtime.mounts'],
    ["it takes the host's network", withRuntime({ network: 'host' }), 'images.1.runtime.network'],
    ['a home is no path', withRuntime({ home_container_path: 'x' }), 'images.1.runtime.home_container_path'],
    ['an argument has a NUL', withRuntime({ args: ['\0'] }), 'images.1.runtime.args.0'],
    ['there are too many', Array.from({ length: 257 }, (_, n) => ({ ...PREBUILT, id: `i${n}` })), 'images'],
  ])('%s', (_why, images, place) => {
    const read = readImages(images);
    expect(read).toHaveProperty('refused');
    expect((read as { refused: string }).refused).toContain(place);
  });

  test.each([
    ['it is no JSON', '{', 'no JSON'],
    ['it is empty', '', 'no JSON'],
    ['it is a list', '[]', 'no manifest'],
    ['its version is another', '{"manifest_version":2,"images":[]}', 'manifest_version'],
    ['its version is missing', '{"images":[]}', 'manifest_version'],
    ['it has too many values', `[${'[],'.repeat(50_000)}0]`, 'too many values'],
    ['it is nested too deep', `${'['.repeat(5_000)}${']'.repeat(5_000)}`, 'too deep'],
  ])('%s', (_why, text, place) => {
    expect(readText(text)).toEqual({ refused: expect.stringContaining(place) });
  });
});

test('no bytes make it throw, and a reason fits the error of a synchronisation', () => {
  const image = fc.record({
    id: fc.oneof(fc.string(), fc.constant('retro')),
    display_name: fc.anything(),
    kind: fc.oneof(fc.constantFrom('prebuilt', 'template'), fc.string()),
    version: fc.string(),
    registry_ref: fc.string(),
    runtime: fc.object(),
  });
  const manifest = fc.record({ manifest_version: fc.constantFrom(1, 2), images: fc.array(image) });
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array(),
        manifest.map((value) => Buffer.from(JSON.stringify(value))),
      ),
      (bytes) => {
        const read = readManifest(Buffer.from(bytes));
        if ('refused' in read) expect(read.refused.length).toBeLessThanOrEqual(300);
      },
    ),
  );
});
