import { describe, expect, test } from 'vitest';
import { UpgradeRefused, type UpgradeTools, upgrade } from './upgrade.ts';

/** A machine with release 0.1.0 and a file of release 0.2.0. */
function world(
  options: {
    fails?: readonly string[];
    sick?: readonly (string | null)[];
    newer?: boolean;
    status?: string;
  } = {},
) {
  const { fails = [], newer = true, status = '0.2.0 half-configured' } = options;
  const sick = [...(options.sick ?? [])];
  const did: string[] = [];
  const said: string[] = [];
  const answer = async (command: string): Promise<string> => {
    if (fails.some((each) => command.startsWith(each))) throw new Error(`${command.split(' ')[0]} failed`);
    if (command.includes('--field') && command.endsWith('Package')) return 'footlight-control\n';
    if (command.includes('--field')) return '0.2.0\n';
    if (command.startsWith('dpkg-query')) return command.includes('Status') ? status : '0.1.0';
    if (command.startsWith('journalctl')) return 'one line\nThe control plane cannot start: no table\n';
    if (command.startsWith('dpkg --compare-versions') && !newer) throw new Error('exit code 1');
    return '';
  };
  const tools: UpgradeTools = {
    run(program, args, env = {}) {
      const command = [program, ...args].join(' ');
      const changes = /^(systemctl|dpkg (-i|--unpack|--configure)|sh .*dpkg-repack)/.test(command);
      if (command.includes('dpkg-repack')) did.push('dpkg-repack');
      else if (changes) did.push([...Object.entries(env).map((pair) => pair.join('=')), command].join(' '));
      return answer(command);
    },
    runAsService(program, args) {
      if (program !== 'sh') did.push(`as the service: ${program}`);
      return answer([program, ...args].join(' '));
    },
    waitForHealth: async () => sick.shift() ?? null,
    print: (line) => void said.push(line),
  };
  return { did, said, run: () => upgrade('/new.deb', tools) };
}

const STOP = 'systemctl stop footlight-control.service';
const SAVED = ['dpkg-repack', STOP, 'as the service: backup'];

describe('the upgrade to a package', () => {
  test('saves the database of the stopped service before it installs', async () => {
    const { run, did } = world();
    expect(await run()).toBe(0);
    expect(did).toEqual([...SAVED, 'dpkg -i /new.deb']);
  });

  test.each([
    ['does not start', { fails: ['dpkg -i'] }, 'The control plane cannot start: no table'],
    ['is sick', { sick: [null, '/health answers 503'] }, '/health answers 503'],
  ])('puts the former release and its database back if the new one %s', async (_what, options, why) => {
    const { run, did, said } = world(options);
    expect(await run()).toBe(1);
    expect(did).toEqual([
      ...SAVED,
      'dpkg -i /new.deb',
      STOP,
      'FOOTLIGHT_PUT_BACK=1 dpkg --unpack /var/cache/footlight/before-upgrade.deb',
      'as the service: restore',
      'dpkg --configure footlight-control',
    ]);
    expect(said).toContain(`Footlight 0.2.0 does not run: ${why}`);
  });

  test('only starts the former release again if dpkg changed nothing', async () => {
    const { run, did } = world({ fails: ['dpkg -i'], status: '0.1.0 installed' });
    expect(await run()).toBe(1);
    expect(did).toEqual([...SAVED, 'dpkg -i /new.deb', 'systemctl start footlight-control.service']);
  });

  test('puts the former release back even if the log cannot be read', async () => {
    const { run, said } = world({ fails: ['dpkg -i', 'journalctl'] });
    expect(await run()).toBe(1);
    expect(said).toContain('Footlight 0.2.0 does not run: dpkg failed');
  });

  test('says where both files are if the former release does not run either', async () => {
    const { run, said } = world({ fails: ['dpkg -i', 'dpkg --configure'] });
    expect(await run()).toBe(2);
    expect(said.at(-1)).toMatch(/before-upgrade\.deb.*before-upgrade\.backup/);
  });

  test('starts the service again if its database cannot be saved', async () => {
    const { run, did } = world({ fails: ['backup'] });
    await expect(run()).rejects.toThrow(UpgradeRefused);
    expect(did).toEqual([...SAVED, 'systemctl start footlight-control.service']);
  });

  test.each([
    ['the file is not newer', { newer: false }, 'not newer'],
    ['the file is no package', { fails: ['dpkg-deb'] }, 'not a Debian package'],
    ['the installed release does not run', { sick: ['/health answers 503'] }, '/health answers 503'],
  ])('changes nothing if %s', async (_what, options, why) => {
    const { run, did } = world(options);
    await expect(run()).rejects.toThrow(why);
    expect(did).toEqual([]);
  });
});
