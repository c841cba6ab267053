import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { createTestApp } from '../testing/index.ts';
import { makeOperatorPair, type OperatorPair } from '../testing/operator-pair.ts';
import { startOwnProcess } from '../testing/own-process.ts';

/** Files of an operator's pair in a new folder, which the returned function replaces. */
function certificateFiles(first: OperatorPair) {
  const folder = mkdtempSync(join(tmpdir(), 'footlight-certificate-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const env = { SERVICE_TLS_CERT: join(folder, 'cert.pem'), SERVICE_TLS_KEY: join(folder, 'key.pem') };
  const replace = ({ cert, key }: OperatorPair) => {
    writeFileSync(env.SERVICE_TLS_CERT, cert);
    writeFileSync(env.SERVICE_TLS_KEY, key);
  };
  replace(first);
  return { folder, env, replace };
}

/** Sends a request over TLS. @returns the body, and the fingerprint of the server's certificate */
async function ask(port: number, lines: string[], body = ''): Promise<{ text: string; fingerprint: string }> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const fingerprint = socket.getPeerCertificate().fingerprint256;
  const head = [...lines, 'Host: 127.0.0.1', 'Connection: close', `Content-Length: ${body.length}`];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  let text = '';
  for await (const chunk of socket.setEncoding('utf8')) text += chunk;
  return { text: text.slice(text.indexOf('\r\n\r\n') + 4), fingerprint };
}

test('after a renewal, the commands for hosts and the access check show the new certificate', async () => {
  const [first, next] = [await makeOperatorPair('first'), await makeOperatorPair('next')];
  const { folder, env, replace } = certificateFiles(first);
  const target = { dialect: 'sqlite' as const, file: join(folder, 'control.db') };
  const app = await createTestApp(target, { env: { SERVICE_TLS: 'auto', ...env } });
  onTestFinished(() => app.close());
  const port = Number(new URL((await app.plane.listen()).https ?? '').port);
  const bearer = `Authorization: Bearer ${app.people.admin.token}`;
  const shown = async () => ({
    pem: await ask(port, ['GET /v1/tls/certificate.pem HTTP/1.1']),
    check: JSON.parse((await ask(port, ['GET /v1/admin/access-check HTTP/1.1', bearer])).text).certificate,
    command: JSON.parse(
      (await ask(port, ['POST /v1/admin/enrollment-tokens HTTP/1.1', bearer], '{"ttl_seconds":60}')).text,
    ).command as string,
  });
  const before = await shown();
  expect(before.command).toContain(first.fingerprint);

  replace(next);
  await app.plane.reloadCertificate();
  const after = await shown();
  expect(after.pem).toEqual({ text: next.cert, fingerprint: next.fingerprint });
  expect(after.check.info).toMatchObject({ source: 'provided', fingerprint_sha256: next.fingerprint });
  expect(after.command).toContain(`SERVICE_CONTROL_FINGERPRINT=${next.fingerprint}`);
  const pinned = (command: string) => /--pinnedpubkey '([^']+)'/.exec(command)?.[1];
  expect(pinned(after.command)).toMatch(/^sha256\/\//);
  expect(pinned(after.command)).not.toBe(pinned(before.command));
});

test('SIGHUP makes a service read its certificate at once, and does not stop it', async () => {
  // The service uses the machine's clock.
  const validity = { fromMs: Date.UTC(2020), untilMs: Date.UTC(2100) };
  const [first, next] = [await makeOperatorPair('first', validity), await makeOperatorPair('next', validity)];
  const { folder, env, replace } = certificateFiles(first);
  const service = await startOwnProcess(folder, {
    env: { SERVICE_TLS: 'auto', SERVICE_TLS_ADDR: '127.0.0.1:0', ...env },
  });
  onTestFinished(async () => void (await service.end('SIGKILL')));
  const port = Number(new URL(service.url).port);
  // Without a signal, the service would log a refusal only after two checks.
  replace({ ...first, key: next.key });
  service.signal('SIGHUP');
  await expect.poll(() => service.log, { timeout: 60_000 }).toContain('"tls.refused"');
  replace(next);
  service.signal('SIGHUP');
  await expect.poll(() => service.log, { timeout: 60_000 }).toContain('"origin":"reloaded"');
  expect((await ask(port, ['GET /health HTTP/1.1'])).fingerprint).toBe(next.fingerprint);
  expect(await service.end('SIGTERM')).toBe(0);
});
