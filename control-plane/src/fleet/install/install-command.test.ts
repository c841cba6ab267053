import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { installCommand, shellWord } from './install-command.ts';

describe('the line', () => {
  test('without a pin the trust store of the new host decides', () => {
    const facts = { address: 'https://play.example.org', token: 'Zk3v', nodeName: null, pin: null };
    expect(installCommand(facts)).toBe(
      'curl -fsS https://play.example.org/install/agent.sh | sudo SERVICE_CONTROL_URL=https://play.example.org SERVICE_ENROLLMENT_TOKEN=Zk3v sh',
    );
  });

  test('contains the node name when the token is for one', () => {
    const facts = { address: 'http://play.lan:8080', token: 'Zk3v', nodeName: 'render-1', pin: null };
    expect(installCommand(facts)).toMatch(/SERVICE_ENROLLMENT_TOKEN=Zk3v SERVICE_NODE_NAME=render-1 sh$/);
  });

  test('brackets of an IPv6 address are no pattern of the shell', () => {
    const facts = { address: 'https://[2001:db8::7]:8443', token: 'Zk3v', nodeName: null, pin: null };
    expect(installCommand(facts)).toContain("curl -fsS 'https://[2001:db8::7]:8443/install/agent.sh'");
  });

  test('any text is one word to a shell, and the same text', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.string({ unit: 'binary' }).map((text) => text.replace(/\0/g, '')),
          { minLength: 20, maxLength: 20 },
        ),
        (texts) => {
          const line = `printf '%s\\0' ${texts.map(shellWord).join(' ')}`;
          expect(execFileSync('sh', ['-c', line], { encoding: 'utf8' }).split('\0').slice(0, -1)).toEqual(
            texts,
          );
        },
      ),
      { numRuns: 20 },
    );
  });
});
