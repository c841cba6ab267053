/**
 * Reference of the app list: a route of the same framework that only sends the same bytes.
 * Arguments: files of the bodies, each served at /<position>. Prints its address.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';

interface Reply {
  header(name: string, value: string): Reply;
  send(body: Buffer | string): Reply;
}
interface Framework {
  get(url: string, handler: (request: unknown, reply: Reply) => void): void;
  post(url: string, handler: (request: unknown, reply: Reply) => void): void;
  listen(where: { host: string; port: number }): Promise<string>;
  server: { address(): AddressInfo };
}

// The service's copy of the package.
const require = createRequire(new URL('../../../control-plane/package.json', import.meta.url));
const fastify = (require('fastify') as () => Framework)();

for (const [index, file] of process.argv.slice(2).entries()) {
  const body = readFileSync(file);
  fastify.get(`/${index}`, (_request, reply) => {
    reply.header('content-type', 'application/json; charset=utf-8').send(body);
  });
}
fastify.get('/health', (_request, reply) => {
  reply.header('content-type', 'application/json; charset=utf-8').send('{"status":"ok","db":"ok"}');
});
await fastify.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`http://127.0.0.1:${fastify.server.address().port}\n`);
