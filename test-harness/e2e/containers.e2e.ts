import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../src/browser/chromium.ts';
import { coloursAt, isNear, type Rgb } from '../src/browser/picture.ts';
import { signIn } from '../src/browser/sign-in.ts';
import {
  makeDebianImage,
  noRealPodman,
  pushImage,
  type RealPodman,
  type RealRegistry,
  startRealPodman,
  startRealRegistry,
} from '../src/containers/index.ts';
import { eventually, PATIENCE_MS } from '../src/stack/program.ts';
import { PersonSessions } from '../src/stack/sessions.ts';
import { type Stack, startStack } from '../src/stack/stack.ts';

const why = noRealPodman();
const RED: Rgb = [0xd0, 0, 0];
const BLUE: Rgb = [0, 0, 0xd0];
const MIDDLE = [[0.5, 0.5]] as const;

/** An app that fills the display with one colour, and shows a text. */
const coloured = (colour: string) => [
  'xterm',
  '-bg',
  colour,
  '-fg',
  'white',
  '-geometry',
  '200x100+0+0',
  '-b',
  '0',
];

// These tests follow one image from its build to its removal; each test continues after the previous one.
describe.skipIf(why !== null)(
  `an image of the catalog, from end to end${why === null ? '' : ` (${why})`}`,
  () => {
    let podman: RealPodman;
    let registry: RealRegistry;
    let manifests: Server;
    let stack: Stack;
    let sessions: PersonSessions;
    let browser: Browser;
    let page: Page;
    /** Digests by version. */
    const digests: Record<string, string> = {};
    let listed: object[] = [];
    const apps: Record<string, string> = {};
    let session: string;

    beforeAll(async () => {
      podman = await startRealPodman();
      registry = await startRealRegistry();
      manifests = createServer((_request, answer) => {
        answer.setHeader('content-type', 'application/json');
        answer.end(JSON.stringify({ manifest_version: 1, images: listed }));
      }).listen(0, '127.0.0.1');
      await eventually('the manifests are served', PATIENCE_MS, () => manifests.address());
      const { port } = manifests.address() as AddressInfo;
      stack = await startStack({
        controlEnv: {
          SERVICE_IMAGE_CATALOG_REPO: 'example/images',
          SERVICE_IMAGE_CATALOG_BASE_URL: `http://127.0.0.1:${port}`,
          SERVICE_IMAGE_REGISTRY_HOSTS: `http://${registry.name}`,
        },
        // A host that only runs containers.
        agentEnv: {
          SERVICE_PROCESS_RUNTIME: '0',
          SERVICE_CONTAINER_ENGINE: podman.url,
          SERVICE_CONTAINER_ULIMITS: podman.ulimits,
        },
      });
      const { token } = await stack.claim();
      sessions = new PersonSessions(stack, token);
      browser = await startBrowser();
      page = await browser.newPage();
      await signIn(page, token);
    });

    afterAll(async () => {
      await browser?.close();
      await sessions?.close();
      await stack?.stop();
      manifests?.close();
      await registry?.stop();
      await podman?.stop();
    });

    const call = async (method: string, at = '', body?: unknown) => {
      const answer = await sessions.call(method, `/v1/admin/images${at}`, body);
      return { status: answer.status, body: answer.body };
    };
    // biome-ignore lint/suspicious/noExplicitAny: tests read the server's actual response
    const image = async (): Promise<any> => (await call('GET')).body.images[0];
    const onHost = async (state: string, version: string) =>
      eventually(`the host's image is ${state}`, PATIENCE_MS, async () => {
        const [host] = (await image()).hosts;
        return host.state === state && host.version === version ? host : null;
      });
    const offer = (version: string) => {
      listed = [
        {
          id: 'terminal',
          display_name: 'Terminal',
          kind: 'prebuilt',
          version,
          registry_ref: `${registry.name}/apps/terminal:${version}`,
          runtime: { preset_name: 'Terminal image', args: [], managed_home: true },
        },
      ];
    };
    async function publish(version: string): Promise<void> {
      const name = `${registry.name}/apps/terminal:${version}`;
      if (version === '1') await makeDebianImage(podman, name);
      else {
        const file = path.join(podman.folder, 'Next');
        const former = digests[String(Number(version) - 1)];
        await writeFile(file, `FROM ${former}\nLABEL version=${version}\n`);
        await podman.podman('build', '--tls-verify=false', '--tag', name, '--file', file, podman.folder);
      }
      digests[version] = await pushImage(podman, name);
      await podman.podman('rmi', '--force', name);
      offer(version);
    }
    const shows = (colour: Rgb) =>
      eventually(`the browser shows ${colour}`, PATIENCE_MS, async () => {
        const [seen] = await coloursAt(page, MIDDLE);
        return isNear(seen, colour) || null;
      });

    test('built from Debian, pushed, and synced by its digest', async () => {
      await publish('1');
      const { status, body } = await call('POST', '/sync');
      expect([status, body.sync_error]).toEqual([200, null]);
      expect(body.images[0]).toMatchObject({ id: 'terminal', registry_digest: digests[1], installed: false });
      expect(await podman.podman('images', '--quiet')).toBe('');
    });

    test('installed, and pulled by the host', async () => {
      const installed = await call('POST', '/terminal/install');
      expect(installed.status).toBe(201);
      const { bytes } = await onHost('ready', '1');
      expect(bytes).toBeGreaterThan(1024 * 1024);
      expect(await podman.podman('images', '--digests', '--format', '{{.Digest}}')).toBe(
        digests[1]?.split('@')[1],
      );
      const runtime_preset_id = installed.body.image.runtime_preset_id;
      for (const colour of ['#d00000', '#0000d0']) {
        const { status, body } = await sessions.call('POST', '/v1/apps', {
          name: `Terminal ${colour}`,
          default_width: 640,
          default_height: 480,
          default_fps: 30,
          default_bitrate_kbps: 4000,
          runtime_preset_id,
          runtime_spec: { args: coloured(colour) },
        });
        expect(status, JSON.stringify(body)).toBe(201);
        apps[colour] = body.app?.id ?? body.id;
      }
    });

    test('launched from its tile, and seen in the browser', async () => {
      await page.goto(`${stack.httpsUrl}/app`);
      await page
        .getByRole('button', { name: /Terminal #d00000/ })
        .first()
        .click();
      await page.waitForURL('**/app/session/*');
      session = page.url().split('/').at(-1) ?? '';
      await shows(RED);
      expect(await podman.containers()).toEqual([`footlight-${session}`]);
    });

    test('swapped for another app in the same session', async () => {
      const swapped = await sessions.call('POST', `/v1/sessions/${session}/swap`, {
        app_id: apps['#0000d0'],
      });
      expect(swapped.status, JSON.stringify(swapped.body)).toBeLessThan(300);
      await shows(BLUE);
      await eventually('only the new app runs', PATIENCE_MS, async () =>
        (await podman.containers()).join() === `footlight-2-${session}` ? true : null,
      );
      expect((await sessions.read(session)).id).toBe(session);
    });

    test('not removed while in use', async () => {
      expect((await call('DELETE', '/terminal/install')).status).toBe(204);
      await shows(BLUE);
      expect(await podman.podman('images', '--quiet')).not.toBe('');
      expect((await call('POST', '/terminal/install')).status).toBe(201);
      await onHost('ready', '1');
    });

    test('stopped, and its container removed', async () => {
      await sessions.stop(session);
      expect(await podman.containers()).toEqual([]);
      expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(`${podman.folder}/root/overlay/l`);
    });

    test('not updated while pinned; after unpinning, updated, and the old version removed', async () => {
      await publish('2');
      await call('POST', '/sync');
      expect(await image()).toMatchObject({ installed_version: '1', update_available: true });
      expect((await call('POST', '/terminal/pin')).status).toBe(204);
      expect((await call('POST', '/terminal/update')).status).toBe(409);
      expect((await call('DELETE', '/terminal/pin')).status).toBe(204);
      const updated = await call('POST', '/terminal/update');
      expect(updated).toMatchObject({ status: 200, body: { applied: true } });
      await onHost('ready', '2');
      await eventually('only the new version is kept', PATIENCE_MS, async () => {
        const kept = await podman.podman('images', '--digests', '--format', '{{.Digest}}');
        return kept === digests[2]?.split('@')[1] || null;
      });
      const { id } = await sessions.launch(apps['#d00000'] ?? '');
      await sessions.reaches(id, 'app presented');
      const running = await podman.podman('inspect', '--format', '{{.ImageName}}', `footlight-${id}`);
      expect(running).toBe(digests[2]);
      await sessions.stop(id);
    });

    test('uninstalled, and nothing of it left on the host', async () => {
      expect((await call('DELETE', '/terminal/install')).status).toBe(204);
      await eventually('the image is gone', PATIENCE_MS, async () =>
        (await podman.podman('images', '--all', '--quiet')) === '' ? true : null,
      );
      expect(await podman.containers()).toEqual([]);
      expect(await podman.podman('volume', 'ls', '--quiet')).toBe('');
      expect(await podman.podman('network', 'ls', '--format', '{{.Name}}')).toBe('podman');
      const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
      expect(mounts.filter((row) => row.includes(podman.folder) && row.includes('merged'))).toEqual([]);
    });
  },
);
