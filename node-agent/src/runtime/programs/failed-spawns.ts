import type { ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';

/**
 * Adds an error listener to every child of this process. If no descriptor is free, Node returns a child without streams
 * (child_process.js, EMFILE). Because of the missing streams, the caller throws before it listens for the child's error
 * event. The unhandled event would then end the agent and all its sessions. Callers report the failure themselves.
 */
subscribe('child_process', (message) => {
  (message as { process: ChildProcess }).process.on('error', () => undefined);
});
