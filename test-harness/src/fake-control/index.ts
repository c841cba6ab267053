export { assignment } from './assignments.ts';
export { type CommandBody, FakeControl, type FakeControlOptions } from './fake-control.ts';
