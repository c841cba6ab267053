/** What a device with a touch screen loads: use-touch.ts imports it for those alone. */
export { keepTouchChoice, readTouchChoice } from './touch-choice.ts';
export { TouchDialog } from './touch-dialog.tsx';
export { TouchLayer } from './touch-layer.tsx';
