/** A reference of the relay bench: the unmodified signaling server of PeerJS. Prints its address. */
import { createRequire } from 'node:module';

// PeerJS's web framework calls this package as a function, but the workspace overrides it with a version that is not a
// function. The replacement does not affect the measurement, because no message passes through the package.
const require = createRequire(import.meta.url);
const requireOfExpress = createRequire(createRequire(require.resolve('peer')).resolve('express'));
const file = requireOfExpress.resolve('content-disposition');
const contentDisposition = requireOfExpress(file);
requireOfExpress.cache[file].exports = Object.assign(contentDisposition.create, contentDisposition);

const { PeerServer } = await import('peer');
PeerServer({ host: '127.0.0.1', port: 0 }, (server) => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}\n`);
});
