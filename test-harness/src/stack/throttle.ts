import { systemClock } from '@footlight/platform';

/**
 * Lets a process run for a part of each period only, as the kernel does with a group whose CPU quota is used up.
 * @returns a function that ends the throttling; the process then runs freely
 */
export function throttle(pid: number, { runMs, everyMs }: { runMs: number; everyMs: number }): () => void {
  const resume = () => process.kill(pid, 'SIGCONT');
  let isOver = false;
  const timer = systemClock.setInterval(() => {
    resume();
    systemClock.setTimeout(() => isOver || process.kill(pid, 'SIGSTOP'), runMs);
  }, everyMs);
  return () => {
    isOver = true;
    timer.cancel();
    resume();
  };
}
