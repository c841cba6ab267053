import { ACTIVITY_ACTIONS } from '@footlight/protocol/rest';
import { describe, expect, test } from 'vitest';
import { type Names, restOf, thingOf } from './activity-things.ts';

const names: Names = {
  apps: new Map([['app-1', 'SuperTux']]),
  hosts: new Map([['host-1', 'gpu-01']]),
  users: new Map([['user-1', 'alice']]),
  jobs: new Map([['home.gc', 'Deletion of homes']]),
  images: new Map([['retro', 'Retro games']]),
};
const about = (action: string, target_type: string, target_id: string | null, details: object = {}) =>
  thingOf({ action, target_type, target_id, details: details as Record<string, unknown> }, names);

describe('the thing that an entry is about', () => {
  test.each([
    [about('app.update', 'app', 'app-1'), 'SuperTux', '/admin/apps/$id'],
    [about('app.delete', 'app', 'app-9', { name: 'Doom' }), 'Doom', undefined],
    [about('app.update', 'app', 'app-9'), 'a deleted app', undefined],
    [about('user.disabled', 'user', 'user-1'), 'alice', '/admin/users/$id'],
    [about('user.deleted', 'user', 'user-1', { username: 'alice' }), 'alice', undefined],
    [about('host.drain', 'host', 'host-1'), 'gpu-01', '/admin/hosts/$id'],
    [
      about('session.launched', 'session', 's', { app_id: 'app-1', host_id: 'host-1' }),
      'SuperTux on gpu-01',
      '/admin/sessions/$id',
    ],
    [
      about('session.failed', 'session', 's', { app_id: 'app-1', host_id: 'host-1' }),
      'SuperTux on gpu-01',
      '/admin/sessions/$id',
    ],
    [
      about('session.recording.freeze', 'session', 's', { recording_id: 'r' }),
      'A session',
      '/admin/sessions/$id',
    ],
    [about('session.failed', 'session', 's', { host_id: 'gone' }), 'A session', '/admin/sessions/$id'],
    [about('job.run', 'job', 'home.gc'), 'Deletion of homes', '/admin/jobs/$id'],
    [about('job.run', 'job', 'gone'), 'gone', '/admin/jobs/$id'],
    [about('image.synced', 'image', null), 'the catalog', '/admin/images'],
    [about('image.pinned', 'image', 'retro'), 'Retro games', '/admin/images/$id'],
    [about('image.pinned', 'image', 'gone'), 'gone', '/admin/images/$id'],
    [
      about('storage.home.tombstone', 'storage_home', 'h', { username: 'bob', app_name: 'Steam' }),
      'bob’s files of Steam',
      '/admin/homes',
    ],
    [about('backup.download', 'backup', 'a.sqlite'), 'a.sqlite', '/admin/backups'],
    [about('profile_policy.update', 'instance', null), 'the policy', '/admin/profiles'],
    [about('flux.armed', 'flux', 'f-1'), 'f-1', undefined],
  ])('%#: %j', (thing, label, to) => {
    expect([thing.label, thing.link?.to]).toEqual([label, to]);
  });

  test('each action of the service is labelled without a bare id, if the thing has a name', () => {
    const bare = new Set(['backup', 'job', 'image', 'launch_profile', 'stream_profile', 'secret']);
    for (const [action, type] of Object.entries(ACTIVITY_ACTIONS)) {
      if (!bare.has(type)) expect(about(action, type, 'an-id').label, action).not.toContain('an-id');
    }
  });

  test('its details omit what its label already contains', () => {
    expect(restOf({ name: 'Doom', delete_derived: true, app_name: 'x' })).toEqual({ delete_derived: true });
  });
});
