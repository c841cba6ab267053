import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { ManualClock } from '@footlight/platform/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  addHost,
  createTestApp,
  describeSqlite,
  FREE_SIGN_IN,
  OPEN_REGISTRATION,
  PASSWORD,
  signUp,
  type TestApp,
} from '../testing/index.ts';
import { processArguments } from '../testing/planted-secrets.ts';
import { newHome, type Ran, runCommand, type TestTerminalOptions } from './testing/test-terminal.ts';

/** A name that would clear the screen, change the title and write from right to left. */
const HOSTILE = '\u001b[2J\u001b]0;owned\u0007\u009b31m\u202egpj.exe';
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject here
const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

describeSqlite('the command line and a control plane', ({ fresh }) => {
  let app: TestApp;
  let url: string;
  let home: string;
  let token: string;

  beforeAll(async () => {
    app = await createTestApp(await fresh(), {
      env: OPEN_REGISTRATION,
      overrides: { accountLimits: FREE_SIGN_IN },
    });
    url = (await app.plane.listen()).http;
    token = app.people.admin.token;
    for (let index = 0; index < 3; index += 1) await addHost(app, `node-${index}`);
  });
  afterAll(() => app.close());
  beforeEach(() => {
    home = newHome();
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  const asAdmin = (words: readonly string[], options: TestTerminalOptions = {}) =>
    runCommand(words, { home, environment: { FOOTLIGHT_URL: url, FOOTLIGHT_TOKEN: token }, ...options });
  const jsonOf = ({ out }: Ran) => JSON.parse(out);
  const credentials = () => join(home, '.config/footlight/credentials.json');

  test('login stores the token in a file of the owner only, and shows neither password nor token', async () => {
    await signUp(app, 'ada');
    const ran = await runCommand(['login', url], { home, answers: ['ada@example.test', PASSWORD] });
    expect(ran).toMatchObject({ exitCode: 0, out: expect.stringContaining('as ada') });
    const stored = JSON.parse(readFileSync(credentials(), 'utf8'));
    expect(statSync(credentials()).mode & 0o777).toBe(0o600);
    for (const secret of [PASSWORD, stored.token]) {
      expect(ran.out + ran.err).not.toContain(secret);
      expect(processArguments()).not.toContain(secret);
    }
    const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
    expect(files.map((file) => file.name)).toEqual(['credentials.json']);
    expect(readFileSync(credentials(), 'utf8')).not.toContain(PASSWORD);
    expect(jsonOf(await runCommand(['api', 'me.read', '--json'], { home })).user.username).toBe('ada');

    const out = await runCommand(['logout'], { home });
    expect(out.exitCode).toBe(0);
    expect(existsSync(credentials())).toBe(false);
    expect((await app.call({ ...app.people.admin, token: stored.token }, 'GET', '/v1/me')).status).toBe(401);
  });

  test('login takes a password or a token from a file or from standard input', async () => {
    await signUp(app, 'grace');
    const passwordFile = join(home, 'password');
    writeFileSync(passwordFile, `${PASSWORD}\n`);
    const email = ['--email', 'grace@example.test'];
    const words = ['login', url, ...email, '--password-file', passwordFile];
    expect((await runCommand(words, { home })).exitCode).toBe(0);
    const byToken = await runCommand(['login', url, '--token-file', '-'], { home, input: `${token}\n` });
    expect(byToken).toMatchObject({ exitCode: 0, out: expect.stringContaining('as admin') });
    const wrong = await runCommand(['login', url, ...email, '--password-file', '-'], {
      home,
      input: 'wrong password',
    });
    expect(wrong).toMatchObject({ exitCode: 3, err: expect.stringContaining('invalid_credentials') });
    expect(wrong.err).not.toContain('wrong password');
  });

  test('a file that others may read is not used', async () => {
    await runCommand(['login', url, '--token-file', '-'], { home, input: token });
    rmSync(credentials());
    writeFileSync(credentials(), '{}', { mode: 0o644 });
    expect(await runCommand(['hosts', 'list'], { home })).toMatchObject({
      exitCode: 3,
      err: expect.stringContaining('footlight logout'),
    });
  });

  test('logout revokes the token of a file that others may read', async () => {
    await signUp(app, 'mary');
    const words = ['login', url, '--email', 'mary@example.test', '--password-file', '-'];
    await runCommand(words, { home, input: PASSWORD });
    const { token: exposed } = JSON.parse(readFileSync(credentials(), 'utf8'));
    chmodSync(credentials(), 0o644);
    expect((await runCommand(['logout'], { home })).exitCode).toBe(0);
    expect(existsSync(credentials())).toBe(false);
    expect((await app.call({ ...app.people.admin, token: exposed }, 'GET', '/v1/me')).status).toBe(401);
  });

  test('a stored token is not sent to another address', async () => {
    await runCommand(['login', url, '--token-file', '-'], { home, input: token });
    const other = await runCommand(['hosts', 'list'], {
      home,
      environment: { FOOTLIGHT_URL: 'http://127.0.0.1:1' },
    });
    expect(other).toMatchObject({ exitCode: 3, err: expect.stringContaining('not_signed_in') });
  });

  test('--version prints the release, without a control plane', async () => {
    const ran = await runCommand(['--version'], { home, environment: {} });
    expect(ran).toMatchObject({ exitCode: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), err: '' });
  });

  test('exit codes say who has to act', async () => {
    const codeOf = async (words: readonly string[], environment: Record<string, string> = {}) =>
      (await asAdmin(words, { environment: { FOOTLIGHT_URL: url, FOOTLIGHT_TOKEN: token, ...environment } }))
        .exitCode;
    expect(await codeOf(['hosts', 'list'])).toBe(0);
    expect(await codeOf(['--help'])).toBe(0);
    expect(await codeOf(['hosts', 'drain', '--help'])).toBe(0);
    expect(await codeOf(['hosts', 'show', 'no-such-host'])).toBe(1);
    expect(await codeOf(['hosts', 'show', app.people.admin.id])).toBe(1);
    expect(await codeOf(['hosts'])).toBe(2);
    expect(await codeOf(['no-such-command'])).toBe(2);
    expect(await codeOf(['hosts', 'list', '--no-such-flag'])).toBe(2);
    expect(await codeOf(['hosts', 'list', '--limit', '0'])).toBe(2);
    expect(await codeOf(['config', 'set', '--registration-mode', 'sometimes'])).toBe(2);
    expect(await codeOf(['api', 'hosts.read'])).toBe(2);
    expect(await codeOf(['api', 'signal.connect'])).toBe(2);
    expect(await codeOf(['hosts', 'list'], { FOOTLIGHT_TOKEN: '' })).toBe(3);
    expect(await codeOf(['hosts', 'list'], { FOOTLIGHT_TOKEN: 'x'.repeat(43) })).toBe(3);
    expect(await codeOf(['hosts', 'list'], { FOOTLIGHT_TOKEN: app.people.alice.token })).toBe(3);
    expect(await codeOf(['hosts', 'list'], { FOOTLIGHT_URL: 'http://127.0.0.1:1' })).toBe(4);
    expect(await codeOf(['hosts', 'list'], { FOOTLIGHT_URL: 'http://footlight.example' })).toBe(2);
  });

  test('a refusal has its code, its message and what to do', async () => {
    const ran = await asAdmin(['hosts', 'drain', app.people.admin.id]);
    expect(ran).toMatchObject({ exitCode: 1, out: '' });
    expect(ran.err).toMatch(/^Error: .+ \(not_found\)\n$/);
  });

  test('hosts are named by name or id, and pages are followed until the end or the limit', async () => {
    const listed = await asAdmin(['hosts', 'list', '--json']);
    expect(jsonOf(listed).map((host: { node_name: string }) => host.node_name)).toEqual(
      expect.arrayContaining(['node-0', 'node-1', 'node-2']),
    );
    const limited = await asAdmin(['hosts', 'list', '--limit', '2', '--sort', 'name']);
    expect(limited.out.trim().split('\n')).toHaveLength(3);
    expect(limited.err).toContain('more than 2 rows');
    const drained = await asAdmin(['hosts', 'drain', 'node-1', '--json']);
    expect(jsonOf(drained).node_name).toBe('node-1');
    expect((await asAdmin(['hosts', 'uncordon', 'node-1'])).exitCode).toBe(0);
  });

  test('settings are read and changed', async () => {
    await asAdmin([
      'config',
      'set',
      '--no-mic-capture-enabled',
      '--library-discovery-interval-minutes',
      '30',
    ]);
    const shown = jsonOf(await asAdmin(['config', 'show', '--json']));
    expect(shown.settings).toMatchObject({
      mic_capture_enabled: false,
      library_discovery_interval_minutes: 30,
    });
    const refused = await asAdmin(['config', 'set', '--library-discovery-interval-minutes', '1']);
    expect(refused).toMatchObject({ exitCode: 1, err: expect.stringContaining('validation_failed') });
  });

  test('a command that sets a field leaves the others to its flags', async () => {
    const { id } = await app.addPerson('lent');
    expect(await asAdmin(['users', 'disable', 'lent', '--end-sessions'])).toMatchObject({
      exitCode: 0,
      err: '',
    });
    const listed = jsonOf(await asAdmin(['users', 'list', '--q', 'lent', '--json']));
    expect(listed).toEqual([expect.objectContaining({ id, disabled: true })]);
    expect((await asAdmin(['users', 'disable', 'lent', '--role', 'admin'])).exitCode).toBe(2);
  });

  test('a body comes from a file or standard input; one with a secret is never an argument', async () => {
    const whole = await asAdmin(
      ['api', 'hosts.drain', '--id', await idOf('node-2'), '--body', '-', '--json'],
      {
        input: '{"force":false}',
      },
    );
    expect(jsonOf(whole).node_name).toBe('node-2');
    const words = ['api', 'secrets.set', '--name', 'artwork.steamgriddb.api_key', '--body'];
    const argument = await asAdmin([...words, '{"value":"planted-value"}']);
    expect(argument).toMatchObject({ exitCode: 2, err: expect.stringContaining('arguments') });
    expect(argument.err).not.toContain('planted-value');
    const malformed = await asAdmin([...words, '-'], { input: 'planted-value' });
    expect(malformed.exitCode).toBe(2);
    expect(malformed.err).not.toContain('planted-value');
  });
  const idOf = async (name: string) =>
    jsonOf(await asAdmin(['hosts', 'list', '--q', name, '--json']))[0].id as string;

  test('names with escape sequences reach the terminal as visible text', async () => {
    await addHost(app, HOSTILE);
    await addHost(app, 'line\nfeed');
    for (const words of [
      ['hosts', 'list'],
      ['hosts', 'list', '--json'],
      ['hosts', 'show', HOSTILE],
    ]) {
      const { out, err } = await asAdmin(words);
      expect(out + err).toContain('\\u001b[2J');
      expect(out + err).not.toMatch(CONTROLS);
    }
    // The name with a line feed stays in its row.
    const { out } = await asAdmin(['hosts', 'list']);
    expect(out.split('\n').filter((line) => line.startsWith('feed'))).toEqual([]);
    const parsed = jsonOf(await asAdmin(['hosts', 'list', '--json']));
    expect(parsed.map((host: { node_name: string }) => host.node_name)).toContain(HOSTILE);
    const { err } = await asAdmin(['hosts', 'show', `${HOSTILE}?`]);
    expect(err).not.toMatch(CONTROLS);
  });

  test('a file is saved for its owner only, and replaces nothing', async () => {
    const file = join(home, 'openapi.html');
    expect((await asAdmin(['api', 'docs.read', '--output', file])).exitCode).toBe(0);
    expect(readFileSync(file, 'utf8')).toContain('<html');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await asAdmin(['api', 'docs.read', '--output', file])).exitCode).toBe(1);
    const missing = join(home, 'missing');
    const refused = await asAdmin(['backups', 'download', 'none.sqlite', '--output', missing]);
    expect(refused.exitCode).toBe(1);
    expect(existsSync(missing)).toBe(false);
    const screen = await asAdmin(['backups', 'download', 'none.sqlite'], { isScreen: true });
    expect(screen).toMatchObject({ exitCode: 2, err: expect.stringContaining('--output') });
  });
});

describeSqlite('certificates', ({ fresh }) => {
  let app: TestApp;
  let home: string;
  let url: string;
  let token: string;

  beforeAll(async () => {
    home = newHome();
    app = await createTestApp(await fresh(), {
      env: { SERVICE_TLS: 'auto', SERVICE_TLS_DIR: join(home, 'tls') },
    });
    url = (await app.plane.listen()).https ?? '';
    token = app.people.admin.token;
  });
  afterAll(async () => {
    await app.close();
    rmSync(home, { recursive: true, force: true });
  });
  afterEach(() => rmSync(join(home, '.config'), { recursive: true, force: true }));

  const loginWith = (options: TestTerminalOptions, ...words: string[]) =>
    runCommand(['login', url, '--token-file', '-', ...words], { home, input: token, ...options });
  const FINGERPRINT = /[0-9A-F]{2}(?::[0-9A-F]{2}){31}/;

  test('a self-signed certificate is shown, and trusted only after a yes', async () => {
    const refused = await loginWith({ answers: ['no'] });
    expect(refused).toMatchObject({ exitCode: 4, err: expect.stringMatching(FINGERPRINT) });
    const alone = await loginWith({ answers: null });
    expect(alone).toMatchObject({ exitCode: 4, err: expect.stringContaining('--fingerprint') });
    for (const answer of ['yes', 'y'])
      expect(await loginWith({ answers: [answer] })).toMatchObject({ exitCode: 0 });
    expect((await runCommand(['hosts', 'list'], { home })).exitCode).toBe(0);
  });

  test('a server with another certificate gets nothing', async () => {
    const shown = (await loginWith({ answers: ['no'] })).err.match(FINGERPRINT)?.[0] ?? '';
    const other = shown.startsWith('00') ? shown.replace('00', '01') : shown.replace(/^../, '00');
    expect((await loginWith({ answers: null }, '--fingerprint', other)).exitCode).toBe(4);
    expect((await loginWith({ answers: null }, '--fingerprint', shown)).exitCode).toBe(0);
    const ran = async (fingerprint: string) =>
      runCommand(['hosts', 'list'], {
        environment: { FOOTLIGHT_URL: url, FOOTLIGHT_TOKEN: token, FOOTLIGHT_FINGERPRINT: fingerprint },
      });
    expect((await ran(shown)).exitCode).toBe(0);
    const before = app.log.length;
    expect(await ran(other)).toMatchObject({
      exitCode: 4,
      err: expect.stringContaining('certificate_changed'),
    });
    expect(app.log.slice(before).filter((line) => line.includes('/v1/hosts'))).toEqual([]);
    // Without a pin, a certificate that no authority signed is refused.
    expect(await ran('')).toMatchObject({ exitCode: 4, err: expect.stringContaining('(certificate)') });
  });
});

describe('a server that misbehaves', () => {
  let server: Server;
  let listener: RequestListener;
  let url: string;

  beforeAll(async () => {
    server = createServer((request, response) => listener(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const ask = (words: readonly string[], options: TestTerminalOptions = {}) =>
    runCommand(words, {
      environment: { FOOTLIGHT_URL: url, FOOTLIGHT_TOKEN: 'planted-access-token' },
      ...options,
    });

  test('a redirect is not followed, so the token reaches no other server', async () => {
    const seen: string[] = [];
    const other = createServer((request, response) => {
      seen.push(JSON.stringify(request.headers));
      response.end('{}');
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const location = `http://127.0.0.1:${(other.address() as AddressInfo).port}/v1/hosts`;
    listener = (_, response) => response.writeHead(307, { location }).end();
    const ran = await ask(['hosts', 'list']);
    expect(ran).toMatchObject({ exitCode: 4, err: expect.stringContaining(location) });
    expect(ran.err).not.toContain('planted-access-token');
    expect(seen).toEqual([]);
    other.close();
  });

  test('an answer that is too long is cut off', async () => {
    listener = (_, response) => {
      const part = Buffer.alloc(1024 * 1024, 32);
      const more = () => {
        while (!response.destroyed && response.write(part));
      };
      response.writeHead(200, { 'content-type': 'application/json' }).on('drain', more);
      more();
    };
    expect(await ask(['fleet', 'x'])).toMatchObject({ exitCode: 2 });
    expect(await ask(['config', 'show'])).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('answer_too_long'),
    });
  });

  test.each([
    ['never answers', false],
    ['never ends its answer', true],
  ])('a server that %s is given up after the time limit', async (_what, isBegun) => {
    const clock = new ManualClock();
    const asked = new Promise<void>((resolve) => {
      listener = (_, response) => {
        if (isBegun) response.writeHead(200, { 'content-type': 'application/json' }).write('{"settings":');
        resolve();
      };
    });
    const ran = ask(['config', 'show'], { clock });
    await asked;
    clock.advance(60_000);
    expect(await ran).toMatchObject({ exitCode: 4, err: expect.stringContaining('no_answer') });
  });

  test('a list without an end ends with an error', async () => {
    listener = (_, response) => response.end(JSON.stringify({ items: [], next_cursor: 'again' }));
    expect(await ask(['hosts', 'list'])).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('endless_list'),
    });
    let page = 0;
    listener = (_, response) => {
      page += 1;
      response.end(JSON.stringify({ items: [], next_cursor: String(page) }));
    };
    expect(await ask(['hosts', 'list'])).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('endless_list'),
    });
  });

  test.each([
    ['an error page of a proxy', 502, '<html>\u001b[31mbad gateway</html>', 4],
    ['a success that is not JSON', 200, 'hello', 1],
    ['a refusal without an envelope', 404, '{"message":"x"}', 1],
    ['a refusal with escapes', 409, JSON.stringify({ error: { code: 'x', message: HOSTILE } }), 1],
  ])('%s', async (_what, status, text, exitCode) => {
    listener = (_, response) => response.writeHead(status).end(text);
    const ran = await ask(['config', 'show']);
    expect(ran.exitCode).toBe(exitCode);
    expect(ran.out + ran.err).not.toMatch(CONTROLS);
  });
});
