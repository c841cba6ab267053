import { expect, test } from 'vitest';
import { passedOn } from './child-entry.ts';

test('a media worker gets the variables of its libraries, and none of the agent’s settings and credentials', () => {
  const needed = {
    ...{ PATH: '/usr/bin', HOME: '/root', LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8', TZ: 'UTC' },
    ...{ GST_REGISTRY: '/registry', LIBVA_DRIVER_NAME: 'iHD', LD_LIBRARY_PATH: '/opt/lib' },
  };
  const own = {
    ...{ SERVICE_ENROLLMENT_TOKEN: 'the-token', SERVICE_CONTROL_URL: 'https://control.example' },
    ...{ NOTIFY_SOCKET: '/run/systemd/notify', AWS_SECRET_ACCESS_KEY: 'x', MY_PATH: 'x', LD_PRELOAD: 'x' },
  };
  expect(passedOn({ ...needed, ...own })).toEqual(needed);
});
