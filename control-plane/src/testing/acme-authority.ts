import 'reflect-metadata';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DAY_MS, HOUR_MS, SECOND_MS } from '@footlight/platform';
// biome-ignore lint/style/noRestrictedImports: fixtures of tests, which may use the harness.
import { freePort } from '@footlight/test-harness';
import * as x509 from '@peculiar/x509';
import { Agent, fetch } from 'undici';
import { expect } from 'vitest';
import { makeOperatorPair } from './operator-pair.ts';

/** Lifetime of the issued certificates. */
const ISSUED_FOR_MS = 30 * HOUR_MS;

/** A certificate authority for one test: Debian's package `pebble`, which is Let's Encrypt's server for tests. */
export interface AcmeAuthority {
  readonly directory: string;
  /** PEM file of the certificate of the authority's own HTTPS server. */
  readonly caFile: string;
  /** The certificate that signs the issued ones, as PEM. It is new at each start. */
  root(): Promise<string>;
  stop(): Promise<void>;
}

/**
 * @param parent folder for its files
 * @param httpPort port of 127.0.0.1 to which the authority sends its requests, instead of port 80 of each name
 * @param refused a name that the authority refuses
 */
export async function startAcmeAuthority(
  parent: string,
  httpPort: number,
  refused: string,
): Promise<AcmeAuthority> {
  const folder = join(parent, 'pebble');
  mkdirSync(folder);
  const [port, managementPort, dnsPort] = [await freePort(), await freePort(), await freePort()];
  const nowMs = Date.now();
  const pair = await makeOperatorPair('pebble', {
    fromMs: nowMs - DAY_MS,
    untilMs: nowMs + DAY_MS,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }])],
  });
  const [caFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  writeFileSync(caFile, pair.cert);
  writeFileSync(keyFile, pair.key);
  const settings = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate: caFile,
    privateKey: keyFile,
    httpPort,
    tlsPort: 1,
    certificateValidityPeriod: ISSUED_FOR_MS / SECOND_MS,
    domainBlocklist: [refused],
  };
  writeFileSync(join(folder, 'pebble.json'), JSON.stringify({ pebble: settings }));
  const children: ChildProcess[] = [];
  let log = '';
  const start = (program: string, words: string[]): void => {
    const child = spawn(program, words, {
      env: { PATH: process.env.PATH, PEBBLE_VA_NOSLEEP: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        log = `${log}${chunk}`.slice(-10_000);
      });
    child.once('error', (error) => {
      log += error.message;
    });
    children.push(child);
  };
  // Every name leads to this machine. Only DNS is served.
  const others = ['-http01', '', '-https01', '', '-tlsalpn01', '', '-management', '', '-defaultIPv6', ''];
  start('pebble-challtestsrv', ['-defaultIPv4', '127.0.0.1', '-dns01', `127.0.0.1:${dnsPort}`, ...others]);
  start('pebble', ['-config', join(folder, 'pebble.json'), '-dnsserver', `127.0.0.1:${dnsPort}`]);
  const dispatcher = new Agent({ connect: { ca: pair.cert } });
  const directory = `https://127.0.0.1:${port}/dir`;
  await expect
    .poll(
      () =>
        fetch(directory, { dispatcher }).then(
          ({ status }) => status,
          (error) => `${error.cause ?? error} ${log}`,
        ),
      { timeout: 60_000 },
    )
    .toBe(200);
  return {
    directory,
    caFile,
    async root() {
      const answer = await fetch(`https://127.0.0.1:${managementPort}/roots/0`, { dispatcher });
      return answer.text();
    },
    /** May be called twice. */
    async stop() {
      await dispatcher.destroy();
      for (const child of children) {
        if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) continue;
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        await ended;
      }
    },
  };
}
