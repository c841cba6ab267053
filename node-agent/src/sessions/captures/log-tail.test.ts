import { describe, expect, test } from 'vitest';
import { logText, withoutSecrets } from './log-tail.ts';

const HIDDEN = { values: ['hunter22', 'de'], scratchDir: '/run/agent/sessions/one' };
const NOTHING = { values: [], scratchDir: '/run/agent/sessions/one' };

describe('lines of agent and app', () => {
  const agent = ['a1', 'a2', 'a3'];
  const app = ['b1', 'b2', 'b3'];
  test.each([
    [10, agent, app, 'agent a1\nagent a2\nagent a3\napp b1\napp b2\napp b3\n'],
    [4, agent, app, 'agent a2\nagent a3\napp b2\napp b3\n'],
    [3, agent, app, 'agent a3\napp b2\napp b3\n'],
    [1, agent, app, 'app b3\n'],
    [4, agent, ['b3'], 'agent a1\nagent a2\nagent a3\napp b3\n'],
    [4, [], app, 'app b1\napp b2\napp b3\n'],
    [4, [], [], ''],
  ])('%d of %j and %j', (lines, ofAgent, ofApp, text) => {
    expect(logText(ofAgent, ofApp, lines, NOTHING)).toBe(text);
  });

  test('without the values of the environment', () => {
    expect(logText(['{"error":"no hunter22"}'], ['LANG=de', 'den hunter22'], 5, HIDDEN)).toBe(
      'agent {"error":"no [masked]"}\napp LANG=[masked]\napp den [masked]\n',
    );
  });
});

describe('paths outside the scratch directory lose their folders', () => {
  test.each([
    ['open /home/ann/secret/file.txt failed', 'open …/file.txt failed'],
    ['in "/usr/lib/x86/libfoo.so.1"', 'in "…/libfoo.so.1"'],
    ['dir=/var/lib/agent/', 'dir=…/'],
    ['wrote /run/agent/sessions/one/home/log', 'wrote /run/agent/sessions/one/home/log'],
    ['wrote /run/agent/sessions/one-more/home', 'wrote …/home'],
  ])('%s', (line, shown) => {
    expect(withoutSecrets(line, NOTHING)).toBe(shown);
  });

  test.each(['see https://example.org/a/b', 'video/x-raw, framerate=60/1', '3 / 4', 'and/or'])(
    '%s stays',
    (line) => {
      expect(withoutSecrets(line, NOTHING)).toBe(line);
    },
  );
});
