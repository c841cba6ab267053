import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { askOwnProcess, startOwnProcess } from '../testing/own-process.ts';
import { startReceiver, WEBHOOK_SECRET } from '../webhook/testing/receiver.ts';

const BOOTSTRAP = {
  BOOTSTRAP_ADMIN_EMAIL: 'ada@example.test',
  BOOTSTRAP_ADMIN_USERNAME: 'ada',
  BOOTSTRAP_ADMIN_PASSWORD: 'a-password-of-the-test',
};

test('events of a control plane that was killed before their delivery are sent by the next one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'footlight-webhook-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  // The event is committed, but not confirmed.
  receiver.answer = (response) => void response.writeHead(500).end();
  const env = { ...BOOTSTRAP, SERVICE_WEBHOOK_URL: receiver.url, SERVICE_WEBHOOK_SECRET: WEBHOOK_SECRET };
  const start = async () => {
    const service = await startOwnProcess(folder, { env });
    onTestFinished(async () => void (await service.end('SIGKILL')));
    return service;
  };
  const killed = await start();
  const signIn = { email: BOOTSTRAP.BOOTSTRAP_ADMIN_EMAIL, password: BOOTSTRAP.BOOTSTRAP_ADMIN_PASSWORD };
  const { access_token: bearer } = await askOwnProcess(killed, 'POST', '/v1/auth/login', {
    bearer: undefined,
    body: signIn,
  });
  const { app } = await askOwnProcess(killed, 'POST', '/v1/apps', { bearer, body: { name: 'Quake' } });
  const isOfApp = ({ body }: { body: { data: { target_id: string } } }) => body.data.target_id === app.id;
  await expect.poll(() => receiver.received.filter(isOfApp).length).toBe(1);
  await killed.end('SIGKILL');
  receiver.answer = null;

  const next = await start();
  await expect.poll(() => receiver.received.filter(isOfApp).length).toBe(2);
  const [refused, confirmed] = receiver.received.filter(isOfApp);
  expect(confirmed?.id).toBe(refused?.id);
  expect(confirmed?.text).toBe(refused?.text);
  expect(`${killed.log}${next.log}`).not.toMatch(/address-token|whsec_/);
});
