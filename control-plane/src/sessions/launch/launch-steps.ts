/** Collects the steps of one launch for its trace. Pure. */
import { LAUNCH_STEPS } from '@footlight/protocol';
import type { LaunchStep } from '../../platform/launch-traces.ts';

/** Maximum steps of a launch, so that a host cannot add steps without end. */
const MAX_STEPS = 32;

/** From the request until the session is booked: reads, checks, placement and the transaction. */
const ADMISSION = 'admission';
/** From the booking until the host accepted the session: bus, link and agent. */
const ASSIGN = 'session_assign';
/** From the host's acceptance until it reports its first step: bus, link and agent. */
const START = 'session_start';
/** From the app's first window until a viewer saw a picture that is not empty. */
const PICTURE = 'picture at the viewer';

/** A launch whose picture no viewer has seen yet. Each step begins when the step before it ends. Times in epoch ms. */
export interface OpenLaunch {
  readonly steps: readonly Pick<LaunchStep, 'name' | 'startMs'>[];
}

export function beginLaunch(requestedMs: number, bookedMs: number): OpenLaunch {
  return addStep(addStep({ steps: [] }, ADMISSION, requestedMs), ASSIGN, bookedMs);
}

/** The host accepted the session. Its first report may have arrived before its ack. */
export const assigned = (launch: OpenLaunch, atMs: number): OpenLaunch =>
  launch.steps.at(-1)?.name === ASSIGN ? addStep(launch, START, atMs) : launch;

/** @param detail text from the host; a text that is no launch step changes nothing */
export function reported(launch: OpenLaunch, detail: string, atMs: number): OpenLaunch {
  if (detail === LAUNCH_STEPS.app_presented) return addStep(launch, PICTURE, atMs);
  const step = Object.values(LAUNCH_STEPS).find((text) => detail.startsWith(text));
  return step === undefined ? launch : addStep(launch, step, atMs);
}

/** The app's first window exists. */
export const isPresented = (launch: OpenLaunch): boolean => launch.steps.at(-1)?.name === PICTURE;

/** @returns the steps with their end times */
export function endLaunch({ steps }: OpenLaunch, atMs: number): LaunchStep[] {
  return steps.map((step, n) => {
    const endMs = steps[n + 1]?.startMs ?? Math.max(atMs, step.startMs);
    return { ...step, endMs };
  });
}

/** Like `endLaunch`, for a session whose picture no viewer saw. The last step is dropped, because it has no end. */
export const endUnseenLaunch = ({ steps }: OpenLaunch): LaunchStep[] =>
  endLaunch({ steps: steps.slice(0, -1) }, steps.at(-1)?.startMs ?? 0);

function addStep(launch: OpenLaunch, name: string, atMs: number): OpenLaunch {
  const last = launch.steps.at(-1);
  if (last?.name === name || launch.steps.length === MAX_STEPS) return launch;
  // Never before the last step, because the machine's clock may have been set back.
  return { steps: [...launch.steps, { name, startMs: Math.max(atMs, last?.startMs ?? atMs) }] };
}
