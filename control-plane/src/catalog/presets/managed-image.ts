/**
 * Whether the preset that a catalog image owns may use this image. The image must be named by digest, or built by this
 * service for the same catalog image. Any other name could later refer to a different image.
 */
export const isManagedImage = (managedImageId: string, image: string): boolean =>
  image.includes('@sha256:') || image.startsWith(`service-local/${managedImageId}:`);
