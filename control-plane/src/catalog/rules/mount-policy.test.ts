import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { refuseMount } from './mount-policy.ts';

describe('mounts that no host would allow are refused early', () => {
  test.each([
    '/srv/games:/games',
    '/srv/games:/games:ro',
    '/srv//games/:/games:rw',
    '/opt/data:/data',
    '/mnt/library/steam:/library:ro',
    '/homes:/h',
    '/variable:/v',
    '/var/lib2:/v',
    '/run2/x:/x',
    '/tmp/a..b:/x',
  ])('%s passes', (entry) => expect(refuseMount(entry)).toBeNull());

  test.each([
    ['/srv', 'no target'],
    ['', 'nothing'],
    ['srv:/x', 'relative source'],
    ['/srv:x', 'relative target'],
    ['/srv:/', 'the root of the app'],
    ['/srv://', 'the root of the app, spelled oddly'],
    ['/srv:/./', 'the root of the app, spelled oddly'],
    ['/srv:/x:ro:extra', 'a fourth part'],
    ['/srv/../etc:/x', 'climbing'],
    ['/srv/..:/x', 'climbing'],
    ['/srv\0:/x', 'NUL'],
    ['/srv:/x\n', 'newline'],
    ['/:/x', 'the root of the host'],
    ['//:/x', 'the root of the host'],
    ['/./:/x', 'the root of the host'],
    ['/var:/x', 'above a runtime socket'],
    ['/var/:/x', 'above a runtime socket'],
    ['//var//run//docker.sock:/x', 'a runtime socket'],
    ['/run/podman:/x', 'below /run'],
  ])('%j is refused: %s', (entry) => expect(refuseMount(entry)).not.toBeNull());

  test.each([
    '/proc',
    '/sys',
    '/dev',
    '/boot',
    '/etc',
    '/root',
    '/run',
    '/var/run',
    '/var/lib',
    '/var/log',
    '/var/spool',
    '/usr',
    '/bin',
    '/sbin',
    '/lib',
    '/lib32',
    '/lib64',
    '/home',
  ])('%s, what lies below it and its odd spellings are refused', (tree) => {
    for (const source of [tree, `${tree}/`, `/${tree}`, `${tree}/below`, `${tree}//below`, `/.${tree}`]) {
      expect(refuseMount(`${source}:/x`)).not.toBeNull();
    }
  });

  test('every accepted entry has two absolute paths without ".."', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('/', '..', '.', ':', 'a', 'etc', 'srv', 'var', 'run', '\0'), {
          maxLength: 12,
        }),
        (parts) => {
          const entry = parts.join('');
          if (refuseMount(entry) !== null) return;
          const [source, target] = entry.split(':');
          expect(source).toMatch(/^\//);
          expect(target).toMatch(/^\//);
          expect(source?.split('/')).not.toContain('..');
          expect(entry).not.toContain('\0');
        },
      ),
    );
  });
});
