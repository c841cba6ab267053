import type { Server } from '../platform/http/server.ts';
import type { Profiles } from './service.ts';

/** Registers the routes of stream profiles, launch profiles and their policy. */
export function registerProfilesRoutes(server: Server, profiles: Profiles): void {
  const { rungs, launchProfiles } = profiles;
  server.handle('streamProfiles.list', async () => ({ status: 200, body: { items: await rungs.list() } }));
  server.handle('streamProfiles.create', async ({ caller, body }) => ({
    status: 201,
    body: await rungs.create(caller, body),
  }));
  server.handle('streamProfiles.update', async ({ caller, params, body }) => ({
    status: 200,
    body: await rungs.update(caller, params.id, body),
  }));
  server.handle('streamProfiles.delete', async ({ caller, params }) => {
    await rungs.remove(caller, params.id);
    return { status: 204 };
  });
  server.handle('launchProfiles.list', async () => ({
    status: 200,
    body: { items: await launchProfiles.list() },
  }));
  server.handle('launchProfiles.create', async ({ caller, body }) => ({
    status: 201,
    body: await launchProfiles.create(caller, body),
  }));
  server.handle('launchProfiles.read', async ({ params }) => ({
    status: 200,
    body: await launchProfiles.read(params.id),
  }));
  server.handle('launchProfiles.update', async ({ caller, params, body }) => ({
    status: 200,
    body: await launchProfiles.update(caller, params.id, body),
  }));
  server.handle('launchProfiles.delete', async ({ caller, params }) => {
    await launchProfiles.remove(caller, params.id);
    return { status: 204 };
  });
  server.handle('profilePolicy.read', async () => ({ status: 200, body: await profiles.readPolicy() }));
  server.handle('profilePolicy.update', async ({ caller, body }) => ({
    status: 200,
    body: await profiles.updatePolicy(caller, body),
  }));
  server.handle('me.profilePreferences.read', async ({ caller }) => ({
    status: 200,
    body: await profiles.readPreferences(caller.userId),
  }));
  server.handle('me.profilePreferences.update', async ({ caller, body }) => ({
    status: 200,
    body: await profiles.updatePreferences(caller.userId, body),
  }));
  server.handle('me.profiles', async ({ caller, query }) => ({
    status: 200,
    body: await profiles.offer(caller.userId, query.app_id),
  }));
}
