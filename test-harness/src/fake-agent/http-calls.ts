import type { FakeAgent } from './fake-agent.ts';

/**
 * Sends an HTTP call of a host, like the calls of a real agent for jobs and library scans.
 * @param url of the agents' port
 * @throws Error for every answer that is not a success
 */
export async function callAsHost(
  agent: FakeAgent,
  url: string,
  method: 'GET' | 'POST',
  path: string,
  body?: object,
  // biome-ignore lint/suspicious/noExplicitAny: tests read the server's actual response
): Promise<any> {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${agent.secret}`,
      'x-service-node': agent.options.nodeName,
      'x-service-boot': agent.bootId,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} of ${agent.options.nodeName}: ${answer.status} ${text}`);
  return text === '' ? null : JSON.parse(text);
}
