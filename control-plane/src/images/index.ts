export {
  type HostImage,
  loadImageOnHosts,
  loadRequiredImages,
  type RequiredImage,
} from './launch-facts.ts';
export type { ProviderImage } from './providers.ts';
export { registerImagesRoutes } from './routes.ts';
export { createImages, type Images } from './service.ts';
