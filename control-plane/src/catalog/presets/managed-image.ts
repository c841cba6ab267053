/**
 * Whether a preset that belongs to an image of the catalog may name this image: one fixed by its digest, or one that
 * was built here for that very catalog image. Anything else could change under the hosts that hold it.
 */
export const isManagedImage = (managedImageId: string, image: string): boolean =>
  image.includes('@sha256:') || image.startsWith(`service-local/${managedImageId}:`);
