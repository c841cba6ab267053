import type { ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';

/**
 * Hears the errors of all children of this process. Where no descriptor is free, Node returns a child without streams
 * (child_process.js, EMFILE), the starter throws because of these before it listens, and an error that nobody hears would
 * end the agent with all its sessions. Starters report the failure themselves.
 */
subscribe('child_process', (message) => {
  (message as { process: ChildProcess }).process.on('error', () => undefined);
});
