import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../platform/config/config.ts';
import { buildSourceOf, manifestUrl } from './catalog-source.ts';

const configOf = (env: Record<string, string>) => loadConfig(env).images;
const COMMIT = 'a1'.repeat(20);

describe('the address of the manifest', () => {
  test.each<[Record<string, string>, string, string | null]>([
    [{}, 'stable', null],
    [
      { SERVICE_IMAGE_CATALOG_REPO: 'example/images' },
      'stable',
      'https://raw.githubusercontent.com/example/images/stable/image-manifest.json',
    ],
    [
      {
        SERVICE_IMAGE_CATALOG_REPO: 'example/images',
        SERVICE_IMAGE_CATALOG_PATH: 'deep/my manifest.json',
        SERVICE_IMAGE_CATALOG_BASE_URL: 'https://files.example/raw/',
      },
      'a/b?c#d',
      'https://files.example/raw/example/images/a%2Fb%3Fc%23d/deep/my%20manifest.json',
    ],
  ])('%j at %s: %s', (env, ref, url) => {
    expect(manifestUrl(configOf(env), ref)).toBe(url);
  });
});

describe('what a template is built from', () => {
  const images = configOf({ SERVICE_IMAGE_CATALOG_REPO: 'example/images' });
  const template = {
    kind: 'template',
    dockerfile: 'apps/desk/Containerfile',
    build_args: { A: '1' },
  } as const;

  test('is a folder in the archive of the commit', () => {
    expect(buildSourceOf(images, template, COMMIT)).toEqual({
      context_url: `https://codeload.github.com/example/images/tar.gz/${COMMIT}`,
      context_subdir: `images-${COMMIT}/apps/desk`,
      dockerfile: 'Containerfile',
      build_args: { A: '1' },
    });
  });

  test('is the whole archive for a file at its top', () => {
    const source = buildSourceOf(images, { ...template, dockerfile: './Containerfile' }, COMMIT);
    expect(source).toMatchObject({ context_subdir: `images-${COMMIT}`, dockerfile: 'Containerfile' });
  });

  test('is not known without a commit, from another server, and for what is not built', () => {
    const elsewhere = configOf({
      SERVICE_IMAGE_CATALOG_REPO: 'example/images',
      SERVICE_IMAGE_CATALOG_BASE_URL: 'https://files.example',
    });
    for (const source of [
      buildSourceOf(images, template, null),
      buildSourceOf(elsewhere, template, COMMIT),
      buildSourceOf(configOf({}), template, COMMIT),
      buildSourceOf(images, { ...template, kind: 'prebuilt' }, COMMIT),
    ])
      expect(source).toBeNull();
  });
});
