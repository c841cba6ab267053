// Prepares a start of the control plane: builds its bundle, and the agent's archive that the control plane offers to
// new hosts.
import { build } from '../lib/build.mjs';
import { packAgent } from './pack.mjs';

await build('control-plane');
await build('node-agent');
await packAgent();
