export {
  type Answer,
  type Behaviour,
  type BenchSamples,
  displayCapacity,
  gpuCapacity,
  honest,
  type LaunchStep,
  modelEncoder,
  softwareCapacity,
} from './behaviour.ts';
export { dialAgentSocket, UpgradeRefused } from './dial.ts';
export { FakeAgent, type FakeAgentOptions } from './fake-agent.ts';
export { callAsHost } from './http-calls.ts';
export type { Closed } from './inbox.ts';
export { Pictures } from './pictures.ts';
export type { Report } from './reports.ts';
