// Prepares a start of the control plane: its own bundle, and the agent's archive that it offers to new hosts.
import { build } from '../lib/build.mjs';
import { packAgent } from './pack.mjs';

await build('control-plane');
await build('node-agent');
await packAgent();
