/** Loaded before a media worker that runs from source: removes the code that reports the frames of inputs. */
import { FrameTiming } from '../../../node-agent/src/media/input/frame-timing.ts';

FrameTiming.prototype.applied = () => undefined;
FrameTiming.prototype.frame = () => null;
