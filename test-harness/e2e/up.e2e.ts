import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { descendants, isRunning } from '../src/stack/host-traces.ts';
import { ExpiredWait, eventually, freePort, PATIENCE_MS, repositoryRoot } from '../src/stack/program.ts';

const up = path.join(repositoryRoot, 'scripts', 'up');

describe('scripts/up', () => {
  let directory: string;
  let env: NodeJS.ProcessEnv;
  let ports: { http: number; https: number; health: number };

  beforeAll(async () => {
    directory = mkdtempSync('/var/tmp/footlight-up-');
    spawnSync('chmod', ['711', directory]);
    ports = { http: await freePort(), https: await freePort(), health: await freePort() };
    env = {
      ...process.env,
      CONTROL_PORT: String(ports.http),
      SERVICE_TLS_PORT: String(ports.https),
      SERVICE_MEDIA_FALLBACK_PORT: '0',
      SERVICE_AGENT_HEALTH_ADDR: `127.0.0.1:${ports.health}`,
      SERVICE_DATA_DIR: path.join(directory, 'control'),
      SERVICE_AGENT_STATE_DIR: path.join(directory, 'agent'),
      SERVICE_SETUP_TOKEN_PATH: path.join(directory, 'setup-token'),
    };
  });

  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  test('--dry-run lists packages, ports and files, and changes nothing', () => {
    const run = spawnSync(up, ['--dry-run'], { env, encoding: 'utf8' });
    expect(run.status).toBe(0);
    expect(run.stdout).toMatch(/Debian packages/);
    expect(run.stdout).toMatch(/npm packages/);
    for (const port of Object.values(ports)) expect(run.stdout).toContain(String(port));
    expect(run.stdout).toContain(env.SERVICE_DATA_DIR);
    expect(existsSync(path.join(directory, 'control'))).toBe(false);
  });

  test('an unknown option is refused with the usage text', () => {
    const run = spawnSync(up, ['--hurry'], { env, encoding: 'utf8' });
    expect(run.status).toBe(2);
    expect(run.stderr).toContain("does not know '--hurry'");
    expect(run.stderr).toContain('Usage: scripts/up');
  });

  test('an untested version of Node is refused with one sentence', () => {
    const old = mkdtempSync('/var/tmp/footlight-node-');
    spawnSync('sh', ['-c', `printf '#!/bin/sh\\necho v18.19.0\\n' > ${old}/node && chmod +x ${old}/node`]);
    const run = spawnSync(up, [], { env: { ...env, PATH: `${old}:/usr/bin:/bin` }, encoding: 'utf8' });
    rmSync(old, { recursive: true });
    expect(run.status).toBe(1);
    expect(run.stderr.trim()).toBe(
      'Footlight needs Node 24, 22 or 20 (20.19 or newer) with npm; this machine has 18.19.0.',
    );
  });

  test('a port in use is reported, with the variable that changes it', async () => {
    const other = net.createServer().listen(ports.https);
    await new Promise((resolve) => other.once('listening', resolve));
    const run = await finished([]);
    await new Promise((resolve) => other.close(resolve));
    expect(run.code).toBe(1);
    expect(run.output).toMatch(
      new RegExp(`Port ${ports.https} \\(browsers, HTTPS\\) is taken by .*SERVICE_TLS_PORT`),
    );
    expect(existsSync(path.join(directory, 'control'))).toBe(false);
  });

  test.each(['1', '10', 'three', ''])('--replicas %s is refused with the valid values', (count) => {
    const run = spawnSync(up, ['--replicas', count], { env, encoding: 'utf8' });
    expect([run.status, run.stderr]).toEqual([2, expect.stringContaining('takes a number from 2 to 9')]);
  });

  test.each([
    ['one control plane', []],
    ['three control planes', ['--replicas', '3']],
  ])(
    '%s: ends with the address and the place of the setup token, and Ctrl-C stops all of it',
    async (_what, words) => {
      const own = path.join(directory, String(words.length));
      mkdirSync(own, { mode: 0o711 });
      const places = {
        SERVICE_DATA_DIR: path.join(own, 'control'),
        SERVICE_AGENT_STATE_DIR: path.join(own, 'agent'),
        SERVICE_SETUP_TOKEN_PATH: path.join(own, 'setup-token'),
      };
      const child = spawn(up, words, { env: { ...env, ...places }, stdio: ['ignore', 'pipe', 'pipe'] });
      let output = '';
      child.stdout.on('data', (bytes: Buffer) => {
        output += bytes;
      });
      child.stderr.on('data', (bytes: Buffer) => {
        output += bytes;
      });
      await eventually('it is up', PATIENCE_MS, () => {
        if (child.exitCode !== null) throw new Error(output);
        return /Ctrl-C stops all of it/.test(output) || null;
      }).catch((error) => {
        throw new ExpiredWait(`${String(error)}\n${output}`);
      });
      expect(output).toMatch(new RegExp(`Open {3}https://[^ ]+:${ports.https}/setup`));
      expect(output).toContain(places.SERVICE_SETUP_TOKEN_PATH);
      expect(output).toMatch(/Downloads took [\d.]+ s, installing [\d.]+ s, starting [\d.]+ s/);
      expect(statSync(places.SERVICE_SETUP_TOKEN_PATH).mode & 0o777).toBe(0o600);

      const family = descendants(child.pid ?? 0);
      expect(family.length).toBeGreaterThan(2);
      const ready = await fetch(`http://127.0.0.1:${ports.http}/health/ready`);
      expect([ready.status, await ready.json()]).toEqual([200, expect.objectContaining({ status: 'ok' })]);
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGINT');
      await gone;
      await eventually(
        'everything is gone',
        PATIENCE_MS,
        () => family.every(([pid]) => !isRunning(pid)) || null,
      );
      expect(output).toContain('Everything is stopped.');
    },
  );

  function finished(words: string[]): Promise<{ code: number | null; output: string }> {
    return new Promise((resolve) => {
      const child = spawn(up, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (bytes: Buffer) => {
          output += bytes;
        });
      }
      child.once('exit', (code) => resolve({ code, output }));
    });
  }
});
