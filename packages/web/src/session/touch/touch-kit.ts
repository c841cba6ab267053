/** Code that only devices with a touch screen need; use-touch.ts loads it on these devices. */
export { keepTouchChoice, readTouchChoice } from './touch-choice.ts';
export { TouchDialog } from './touch-dialog.tsx';
export { TouchLayer } from './touch-layer.tsx';
