/** Loaded before a media worker that runs from source: takes away what names the frames of inputs. */
import { FrameTiming } from '../../../node-agent/src/media/input/frame-timing.ts';

FrameTiming.prototype.applied = () => undefined;
FrameTiming.prototype.frame = () => null;
