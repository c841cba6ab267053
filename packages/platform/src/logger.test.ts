import { spawnSync } from 'node:child_process';
import { openSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createLogger } from './logger.ts';

test('secrets never reach a line, wherever the field is', () => {
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
    'service.starting',
  );
  logger.child({ session: { secret: 'canary' } }).info({}, 'service.starting');
  expect(lines.join()).toContain('"event":"service.starting"');
  expect(lines.join()).not.toContain('canary');
});

test('logged objects are not modified', () => {
  const logger = createLogger('debug', { write: () => {} });
  const fields = { headers: { cookie: 'kept' }, tries: [{ token: 'kept' }] };
  logger.info(fields, 'service.starting');
  expect(fields).toEqual({ headers: { cookie: 'kept' }, tries: [{ token: 'kept' }] });
});

test('an error is logged without the fields that its driver attached', () => {
  const lines: string[] = [];
  const logger = createLogger('debug', { write: (line) => void lines.push(line) });
  const err = Object.assign(new Error('duplicate key'), { code: '23505', detail: 'Key (email)=(canary)' });
  logger.error({ err }, 'service.failed');
  expect(lines.join()).toContain('23505');
  expect(lines.join()).not.toContain('canary');
});

test('a program ends even if its last lines cannot be written to a full disk', () => {
  const program = `
    import { createLogger } from ${JSON.stringify(new URL('./logger.ts', import.meta.url).href)};
    const logger = createLogger('info');
    for (let line = 0; line < 3; line += 1) logger.info({ line }, 'service.stopping');
    process.exit(7);`;
  const loader = new URL('../../../node_modules/tsx/dist/loader.mjs', import.meta.url).href;
  const { status } = spawnSync(process.execPath, ['--import', loader, '--input-type=module', '-e', program], {
    stdio: ['ignore', openSync('/dev/full', 'w'), 'ignore'],
    timeout: 60_000,
  });
  expect(status).toBe(7);
});
