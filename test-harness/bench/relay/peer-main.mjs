/** The peer of the relay bench: the unmodified signaling server of PeerJS. Prints its address. */
import { createRequire } from 'node:module';

// PeerJS's web framework calls this package as a function, but the version that the workspace overrides it with is not
// a function. No message passes through it.
const require = createRequire(import.meta.url);
const requireOfExpress = createRequire(createRequire(require.resolve('peer')).resolve('express'));
const file = requireOfExpress.resolve('content-disposition');
const contentDisposition = requireOfExpress(file);
requireOfExpress.cache[file].exports = Object.assign(contentDisposition.create, contentDisposition);

const { PeerServer } = await import('peer');
PeerServer({ host: '127.0.0.1', port: 0 }, (server) => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}\n`);
});
