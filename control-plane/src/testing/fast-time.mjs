// Deadlines and ages of the service pass FOOTLIGHT_TIME_SPEED times as fast. So if a test stops the process for two
// seconds, the service counts this as a minute. The wall clock is not changed. Must be loaded before the service.
const speed = Number(process.env.FOOTLIGHT_TIME_SPEED);
const { setTimeout, setInterval, performance } = globalThis;
const now = performance.now.bind(performance);

performance.now = () => now() * speed;
globalThis.setTimeout = (run, delayMs, ...words) => setTimeout(run, delayMs / speed, ...words);
globalThis.setInterval = (run, everyMs, ...words) => setInterval(run, everyMs / speed, ...words);
