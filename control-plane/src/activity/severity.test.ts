import { expect, test } from 'vitest';
import { severityOf } from './severity.ts';

test.each([
  ['session.failed', 'err'],
  ['library.scan.error', 'err'],
  ['error.cleared', 'err'],
  ['user.deleted', 'warn'],
  ['app.delete', 'warn'],
  ['invite.revoked', 'warn'],
  ['entitlement.revoke', 'warn'],
  ['user.disabled', 'warn'],
  ['instance.secret.cleared', 'warn'],
  ['host.drain', 'warn'],
  ['session.stop', 'warn'],
  ['storage.home.tombstone', 'warn'],
  ['failed', 'info'],
  ['delete', 'info'],
  ['host.drained', 'info'],
  ['session.stopped', 'info'],
  ['app.deleted.restored', 'info'],
  ['instance.secret.set', 'info'],
  ['', 'info'],
])('%s is %s', (action, severity) => {
  expect(severityOf(action)).toBe(severity);
});
