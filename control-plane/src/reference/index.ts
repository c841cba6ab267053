export { referenceText } from './document.ts';
export { registerReference } from './routes.ts';
