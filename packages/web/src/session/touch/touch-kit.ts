/** Code that only devices with a touch screen load: use-touch.ts imports it on demand. */
export { keepTouchChoice, readTouchChoice } from './touch-choice.ts';
export { TouchDialog } from './touch-dialog.tsx';
export { TouchLayer } from './touch-layer.tsx';
