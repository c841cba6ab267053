import { expect, test } from 'vitest';
import { agentVersions } from './agent-versions.ts';

test('hosts are counted by the version of their agent, the most frequent version first', () => {
  const host = (node_name: string, agent_version: string | null) => ({
    ...{ id: node_name, node_name, agent_version },
  });
  const hosts = [host('a', '0.1.0'), host('b', null), host('c', '0.2.0'), host('d', '0.2.0')];
  expect(
    agentVersions(hosts).map(({ version, hosts }) => [version, hosts.map(({ node_name }) => node_name)]),
  ).toEqual([
    ['0.2.0', ['c', 'd']],
    ['0.1.0', ['a']],
    [null, ['b']],
  ]);
});
