import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
// biome-ignore lint/style/noRestrictedImports: fixtures of tests, which may use the harness.
import { freePort } from '@footlight/test-harness';

const deployed = (file: string) =>
  readFileSync(fileURLToPath(new URL(`../../../deploy/${file}`, import.meta.url)), 'utf8');

interface Places {
  folder: string;
  /** Addresses of the control planes. */
  controls: readonly string[];
  http: number;
  https: number;
}

/** Replaces the parts that an administrator must change. @throws when the file does not contain one of them */
function changed(text: string, changes: readonly [from: string | RegExp, to: string][]): string {
  return changes.reduce((before, [from, to]) => {
    const after = before.replaceAll(from instanceof RegExp ? new RegExp(from, 'g') : from, to);
    if (after === before) throw new Error(`${from} is not in the file`);
    return after;
  }, text);
}

/**
 * The shipped configurations with the paths and ports of the test, and the commands that run them in the foreground.
 */
const balancers = {
  nginx({ folder, controls, http, https }: Places): [program: string, words: string[]] {
    const site = changed(deployed('nginx/footlight.conf'), [
      ['server 127.0.0.1:8080;', controls.map((control) => `server ${control};`).join('\n')],
      [/ {4}listen \[::\].*\n/, ''],
      ['listen 80;', `listen 127.0.0.1:${http};`],
      ['listen 443 ssl', `listen 127.0.0.1:${https} ssl`],
      ['https://$host$request_uri', `https://$host:${https}$request_uri`],
      ['footlight.example.org', '127.0.0.1'],
      ['/etc/ssl', folder],
    ]);
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    );
    writeFileSync(
      join(folder, 'nginx.conf'),
      `${process.getuid?.() === 0 ? 'user root;' : ''} pid ${folder}/nginx.pid; error_log stderr; events {}\nhttp { access_log off; ${paths.join(' ')}\n${site}\n}`,
    );
    return ['/usr/sbin/nginx', ['-c', join(folder, 'nginx.conf'), '-p', folder, '-g', 'daemon off;']];
  },
  HAProxy({ folder, controls, http, https }: Places): [program: string, words: string[]] {
    const file = join(folder, 'haproxy.cfg');
    const [server = ''] = /^ *server control .*\n/m.exec(deployed('haproxy/haproxy.cfg')) ?? [];
    const servers = controls.map((control, n) =>
      changed(server, [
        ['control', `control-${n + 1}`],
        ['127.0.0.1:8080', control],
      ]),
    );
    writeFileSync(
      file,
      changed(deployed('haproxy/haproxy.cfg'), [
        [server, servers.join('')],
        ['bind :80,[::]:80', `bind 127.0.0.1:${http}`],
        ['bind :443,[::]:443', `bind 127.0.0.1:${https}`],
        ['/etc/haproxy', folder],
      ]),
    );
    return ['/usr/sbin/haproxy', ['-db', '-f', file]];
  },
};

export type BalancerName = keyof typeof balancers;
export const balancerNames = Object.keys(balancers) as BalancerName[];

export interface Balancer {
  readonly url: string;
  readonly plainUrl: string;
  /** The last 4,000 characters that the process wrote. */
  readonly log: string;
  readonly hasEnded: boolean;
  end(): Promise<void>;
}

/** Addresses of a load balancer, which the control planes must know before they start. */
export interface BalancerPorts {
  http: number;
  https: number;
}

export async function freeBalancerPorts(): Promise<BalancerPorts> {
  return { http: await freePort(), https: await freePort() };
}

/** Starts a load balancer with the configuration from deploy/ and its own certificate. */
export function startBalancer(
  name: BalancerName,
  folder: string,
  { http, https }: BalancerPorts,
  controls: readonly string[],
): Balancer {
  const certificate = join(folder, 'footlight.pem');
  const key = join(folder, 'footlight.key');
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'].concat([
      ...['-days', '1', '-subj', '/CN=127.0.0.1', '-keyout', key, '-out', certificate],
    ]),
    { stdio: 'ignore' },
  );
  // HAProxy reads certificate and key from one file; nginx ignores the key in the certificate's file.
  writeFileSync(certificate, readFileSync(certificate, 'utf8') + readFileSync(key, 'utf8'));
  chmodSync(certificate, 0o600);
  const [program, words] = balancers[name]({ folder, controls, http, https });
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-4_000);
    });
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  return {
    url: `https://127.0.0.1:${https}`,
    plainUrl: `http://127.0.0.1:${http}`,
    get log() {
      return log;
    },
    get hasEnded() {
      return hasEnded();
    },
    async end() {
      if (hasEnded()) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}
