// What the control plane needs before it starts: its own bundle, and the agent that it hands out to new hosts.
import { build } from '../lib/build.mjs';
import { packAgent } from './pack.mjs';

await build('control-plane');
await build('node-agent');
await packAgent();
