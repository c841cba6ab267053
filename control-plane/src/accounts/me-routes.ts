import type { TokenBuckets } from '../platform/buckets/token-buckets.ts';
import type { EarlyRequest } from '../platform/http/message/contract.ts';
import type { Server } from '../platform/http/server.ts';
import type { Accounts } from './service.ts';

/** Registers the routes for the caller's own account data. */
export function registerMeRoutes(server: Server, accounts: Accounts): void {
  const { deviceBuckets, devices, passwordBuckets, passwordChange, preferences } = accounts.services;

  server.handle(
    'me.password',
    async ({ addressKey, caller, body }) => {
      await passwordChange.change(caller, body, addressKey);
      return { status: 204 };
    },
    { early: perUser(passwordBuckets) },
  );

  server.handle('devices.list', async ({ caller }) => ({ status: 200, kept: await devices.list(caller) }), {
    compress: false,
  });
  server.handle(
    'devices.probe',
    async ({ caller, body, headers }) => ({
      status: 200,
      body: { device: await devices.probe(caller, body, headers['user-agent']) },
    }),
    { early: perUser(deviceBuckets) },
  );
  server.handle('devices.update', async ({ caller, params, body }) => ({
    status: 200,
    body: { device: await devices.update(caller, params.id, body) },
  }));
  server.handle('devices.delete', async ({ caller, params }) => {
    await devices.remove(caller, params.id);
    return { status: 204 };
  });

  server.handle('uiPreferences.read', async ({ caller }) => ({
    status: 200,
    body: await preferences.readUi(caller.userId),
  }));
  server.handle('uiPreferences.update', async ({ caller, body }) => ({
    status: 200,
    body: await preferences.updateUi(caller.userId, body),
  }));
}

type LimitedPerUser = 'me.password' | 'devices.probe';

/** Counts a request against the caller's bucket before the body is read. */
const perUser =
  (buckets: TokenBuckets) =>
  ({ caller }: EarlyRequest<LimitedPerUser>): void =>
    buckets.take(caller.userId);
