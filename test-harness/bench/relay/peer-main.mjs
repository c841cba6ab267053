/** The rival of the relay: the signaling server of PeerJS as it comes. Prints its address. */
import { createRequire } from 'node:module';

// The web framework under it calls this package as a function, which the version that the workspace overrides it with
// no longer is. No message passes through it.
const require = createRequire(import.meta.url);
const requireOfExpress = createRequire(createRequire(require.resolve('peer')).resolve('express'));
const file = requireOfExpress.resolve('content-disposition');
const contentDisposition = requireOfExpress(file);
requireOfExpress.cache[file].exports = Object.assign(contentDisposition.create, contentDisposition);

const { PeerServer } = await import('peer');
PeerServer({ host: '127.0.0.1', port: 0 }, (server) => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}\n`);
});
