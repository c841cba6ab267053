export { makeDebianImage, pushImage, startDebianRegistry } from './debian-image.ts';
export {
  noRealPodman,
  type RealPodman,
  type RealRegistry,
  startRealPodman,
  startRealRegistry,
} from './real-podman.ts';
export { type KubernetesObject, startChartRenderer, wrongFields } from './render-chart.ts';
export { startSlowRegistry } from './slow-registry.ts';
