import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostPackages } from '../../scripts/lib/debian-packages.mjs';
import { type Browser, startBrowser } from '../src/browser/chromium.ts';
import { framesShown } from '../src/browser/picture.ts';
import { signIn } from '../src/browser/sign-in.ts';
import { ApiClient } from '../src/stack/api-client.ts';
import { type BootedMachine, bootMachine } from '../src/stack/booted-machine.ts';
import { eventually, PATIENCE_MS, repositoryRoot } from '../src/stack/program.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
const ADMIN = { email: 'ada@example.org', username: 'ada', password: 'a-long-enough-pass-phrase' };
/** Longest time without a new frame that a person does not call frozen. */
const FROZEN_MS = 1_000;

/** Gaps between shown frames, in milliseconds, as the page measures them. */
declare global {
  interface Window {
    footlightLongestGapMs?: number;
  }
}

describe.runIf(LONG && process.getuid?.() === 0)(
  'the Debian packages on a minimal Debian with systemd',
  () => {
    let directory: string;
    let machine: BootedMachine;
    let api: ApiClient;
    let token = '';
    let browser: Browser;
    let page: Page;
    let session = '';

    const run = async (line: string) => {
      const { code, output } = await machine.run(line, 300_000);
      if (code !== 0) throw new Error(`${line}: ${code}\n${output}`);
      return output;
    };
    const call = (method: string, url: string, body?: object, headers = {}) =>
      api.ask(method, url, {
        headers,
        ...(token === '' ? {} : { token }),
        ...(body === undefined ? {} : { body }),
      });
    const isRunning = async () =>
      (await call('GET', `/v1/sessions/${session}`)).session.state === 'running' ? true : null;
    const longestGapMs = async () => {
      const seen = await framesShown(page);
      await eventually(
        'further frames',
        PATIENCE_MS,
        async () => (await framesShown(page)) > seen + 30 || null,
      );
      return page.evaluate(() => window.footlightLongestGapMs ?? 0);
    };

    beforeAll(async () => {
      directory = mkdtempSync('/var/tmp/footlight-packages-');
      const root = path.join(directory, 'root');
      const packages = path.join(directory, 'packages');
      const build = (...words: string[]) =>
        execFileSync(path.join(repositoryRoot, 'scripts/package'), [...words, packages], { stdio: 'ignore' });
      build();
      build('--version', '0.2.0');
      plantMigration(packages);
      const base = 'systemd,systemd-sysv,dbus,ca-certificates,dpkg-repack';
      execFileSync('debootstrap', ['--variant=minbase', `--include=${base}`, 'bookworm', root], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      // debootstrap itself cannot resolve the dependencies of GStreamer.
      const wanted = hostPackages.map(({ name }) => name).join(' ');
      const line = `apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends ${wanted}`;
      execFileSync(
        'systemd-nspawn',
        ['--quiet', '--directory', root, '--register=no', '--keep-unit', '--pipe', '/bin/sh', '-c', line],
        { stdio: ['ignore', 'ignore', 'inherit'] },
      );
      for (const name of ['control_0.1.0', 'control_0.2.0', 'control_0.3.0', 'agent_0.1.0'])
        copyFileSync(path.join(packages, `footlight-${name}_amd64.deb`), path.join(root, `root/${name}.deb`));
      machine = await bootMachine(root);
      api = new ApiClient(`https://${machine.address}:8443`);
    }, 900_000);

    afterAll(async () => {
      await browser?.close();
      await api?.close();
      await machine?.close();
      if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
    });

    test('install, claim, add the host, launch: the browser shows the picture', async () => {
      const installed = await run('dpkg -i /root/control_0.1.0.deb');
      expect(installed).toContain(`Open ${api.url}/setup in a browser`);
      const claimed = await call('POST', '/v1/setup/claim', ADMIN, {
        'x-service-setup-token': (await run('cat /run/service/setup-token')).trim(),
      });
      token = claimed.access_token;
      expect(await run('dpkg -i /root/agent_0.1.0.deb')).toContain('footlight-agent install');
      const { command } = await call('POST', '/v1/admin/enrollment-tokens', { note: 'drill' });
      const variables = String(command)
        .match(/SERVICE_\w+=\S+/g)
        ?.join(' ');
      await run(`SERVICE_PROCESS_RUNTIME=1 ${variables} footlight-agent install`);
      await eventually('the host is online', PATIENCE_MS, async () => {
        const { items } = await call('GET', '/v1/hosts');
        return items.find(
          (host: { status: string; capacity: object | null }) => host.status === 'online' && host.capacity,
        );
      });
      const app = await call('POST', '/v1/apps', {
        name: 'Pattern',
        default_width: 640,
        default_height: 360,
        default_fps: 30,
        default_bitrate_kbps: 2000,
        runtime_spec: { args: ['/usr/local/bin/footlight-agent', 'diagnostics'] },
      });
      const launched = await call('POST', '/v1/sessions', { app_id: app.id ?? app.app.id });
      session = launched.session.id;
      browser = await startBrowser({ width: 960, height: 640 });
      page = await browser.newPage();
      await signIn(page, token);
      await page.goto(`${api.url}/app/session/${session}`);
      await eventually('frames', 60_000, async () => (await framesShown(page)) > 30 || null);
      await page.evaluate(() => {
        let last = performance.now();
        window.footlightLongestGapMs = 0;
        const video = document.querySelector('video');
        const next = () =>
          video?.requestVideoFrameCallback((now) => {
            window.footlightLongestGapMs = Math.max(window.footlightLongestGapMs ?? 0, now - last);
            last = now;
            next();
          });
        next();
      });
    }, 300_000);

    test('what is no newer package of the control plane is refused, and nothing changes', async () => {
      for (const [file, why] of [
        ['/root/agent_0.1.0.deb', 'contains footlight-agent, not footlight-control'],
        ['/root/control_0.1.0.deb', 'is 0.1.0, which is not newer'],
        ['/etc/passwd', 'is not a Debian package'],
      ] as const) {
        const { code, output } = await machine.run(`footlight upgrade ${file}`);
        expect([code, output]).toEqual([1, expect.stringContaining(why)]);
      }
      expect(await run('dpkg-query -W footlight-control')).toContain('0.1.0');
    });

    test('an upgrade keeps the session, and its picture does not freeze', async () => {
      expect(await run('footlight upgrade /root/control_0.2.0.deb')).toContain('Footlight 0.2.0 runs.');
      expect(await run('dpkg-query -W footlight-control')).toContain('0.2.0');
      await eventually('the session is known to run', PATIENCE_MS, isRunning);
      expect(await longestGapMs()).toBeLessThan(FROZEN_MS);
    }, 120_000);

    test('the agent that the new release offers to hosts has its version', async () => {
      const archive = '/usr/lib/footlight-control/node-agent/dist/install/agent-linux-x64.tgz';
      const manifest = await run(`tar -xzOf ${archive} ./node-agent/package.json`);
      expect(JSON.parse(manifest).version).toBe('0.2.0');
    });

    test('a downgrade by dpkg is refused with the reason', async () => {
      const { code, output } = await machine.run('dpkg -i /root/control_0.1.0.deb', 60_000);
      expect(code).not.toBe(0);
      expect(output).toContain('its database is newer than release 0.1.0');
      expect((await call('GET', '/health')).status).toBe('ok');
    }, 60_000);

    test('a release whose migration breaks the database is put back, with its data and the session', async () => {
      const { code, output } = await machine.run('footlight upgrade /root/control_0.3.0.deb', 120_000);
      expect([code, output]).toEqual([1, expect.stringContaining('The control plane cannot start')]);
      expect(output).toContain('Footlight 0.2.0 runs again with the data from before the upgrade.');
      expect(await run('dpkg-query -W footlight-control')).toContain('0.2.0');
      const login = { email: ADMIN.email, password: ADMIN.password };
      expect((await api.ask('POST', '/v1/auth/login', { body: login })).access_token).toBeTypeOf('string');
      await eventually('the session is known to run', PATIENCE_MS, isRunning);
      expect(await longestGapMs()).toBeLessThan(FROZEN_MS);
    }, 180_000);

    test('a backup is restored by the command of the package, whose service then owns the files', async () => {
      await run('footlight backup /root/saved.backup');
      await call('POST', '/v1/apps', { name: 'Newer than the backup', runtime_spec: { args: ['true'] } });
      const early = await machine.run('footlight restore /root/saved.backup');
      expect([early.code, early.output]).toEqual([
        1,
        expect.stringContaining('systemctl stop footlight-control'),
      ]);
      await run('systemctl stop footlight-control');
      const output = await run('footlight restore /root/saved.backup');
      expect(output).toContain('Restored /var/lib/service-control/control.db');
      expect(output).toContain('sudo systemctl start footlight-control');
      const owners = await run(
        'stat -c %u /var/lib/private/service-control/control.db* /var/lib/private/service-control',
      );
      expect(new Set(owners.trim().split('\n')).size).toBe(1);
      expect(owners).not.toMatch(/^0$/m);
      await run('systemctl start footlight-control');
      await eventually('the control plane runs', PATIENCE_MS, async () =>
        (await call('GET', '/health').catch(() => null))?.status === 'ok' ? true : null,
      );
      const { items } = await call('GET', '/v1/apps');
      expect(items.map(({ name }: { name: string }) => name)).not.toContain('Newer than the backup');
    }, 120_000);

    test('a purge leaves only data, and says where', async () => {
      const output = await run('dpkg --purge footlight-agent footlight-control');
      expect(output).toContain('/var/lib/service-control');
      expect(output).toContain('/var/lib/service-agent');
      const left = await run(
        'find / -xdev \\( -path /proc -o -path /sys -o -path /root -o -path /var/log -o -path "/var/lib/*service-*" \\) -prune -o -iname "*footlight*" -print',
      );
      expect(left.trim()).toBe('');
      expect(await run('ls -d /var/lib/service-*')).toBe(
        '/var/lib/service-agent\n/var/lib/service-control\n',
      );
    }, 120_000);
  },
);

/** Makes a release 0.3.0 from 0.2.0 whose migration deletes a table, so that it cannot start. */
function plantMigration(packages: string): void {
  const tree = path.join(packages, 'planted');
  execFileSync('dpkg-deb', ['-R', path.join(packages, 'footlight-control_0.2.0_amd64.deb'), tree]);
  const edit = (file: string, change: (text: string) => string) => {
    const place = path.join(tree, file);
    const before = readFileSync(place, 'utf8');
    const after = change(before);
    if (after === before) throw new Error(`nothing was changed in ${file}`);
    writeFileSync(place, after);
  };
  edit('usr/lib/footlight-control/control-plane/dist/main.js', (text) =>
    text.replace(
      /STEPS *= *\[(firstMigration[^\]]*)\]/,
      'STEPS=[$1,{name:"9999-planted",async up(db){await db.schema.dropTable("users").execute()}}]',
    ),
  );
  for (const file of ['DEBIAN/control', 'DEBIAN/preinst'])
    edit(file, (text) => text.replaceAll('0.2.0', '0.3.0'));
  const built = path.join(packages, 'footlight-control_0.3.0_amd64.deb');
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zzstd', '-z1', '--build', tree, built], {
    stdio: 'ignore',
  });
}
