export { loadCertifications } from './store.ts';
