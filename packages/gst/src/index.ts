export { AppSink, type MediaBuffer, Sample } from './app-sink.ts';
export { AppSrc } from './app-src.ts';
export type { BusMessage } from './bus.ts';
export { exitNow } from './exit-now.ts';
export { initialise, version } from './init.ts';
export type { PropertyValue } from './object.ts';
export { dieWithParent } from './parent-death.ts';
export { Element, Pipeline, type PipelineState } from './pipeline.ts';
export { hasElement, hasPlugin, listElements } from './registry.ts';
