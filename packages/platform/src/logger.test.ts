import { expect, test } from 'vitest';
import { createLogger } from './logger.ts';

test('secrets never reach a line, wherever a field of that name stands', () => {
  const lines: string[] = [];
  const logger = createLogger('debug', { write: (line) => void lines.push(line) });
  logger.info(
    {
      token: 'canary',
      headers: {
        authorization: 'Bearer canary',
        'x-service-setup-token': 'canary',
        'x-service-dev-key': 'canary',
        cookie: 'service_page=canary',
      },
      request: { password: 'canary', headers: { authorization: 'canary' } },
      tries: [{ token: 'canary' }],
    },
    'test',
  );
  logger.child({ session: { secret: 'canary' } }).info('test');
  expect(lines.join()).toContain('"event":"test"');
  expect(lines.join()).not.toContain('canary');
});

test('what is logged stays as it was', () => {
  const logger = createLogger('debug', { write: () => {} });
  const fields = { headers: { cookie: 'kept' }, tries: [{ token: 'kept' }] };
  logger.info(fields);
  expect(fields).toEqual({ headers: { cookie: 'kept' }, tries: [{ token: 'kept' }] });
});

test('an error is logged without what its driver attached', () => {
  const lines: string[] = [];
  const logger = createLogger('debug', { write: (line) => void lines.push(line) });
  logger.error({
    err: Object.assign(new Error('duplicate key'), { code: '23505', detail: 'Key (email)=(canary)' }),
  });
  expect(lines.join()).toContain('23505');
  expect(lines.join()).not.toContain('canary');
});
