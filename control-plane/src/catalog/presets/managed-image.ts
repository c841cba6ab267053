/**
 * Whether a preset of a catalog image may name this image: one named by digest, or one built here for that catalog
 * image. Other images could change under the hosts that hold them.
 */
export const isManagedImage = (managedImageId: string, image: string): boolean =>
  image.includes('@sha256:') || image.startsWith(`service-local/${managedImageId}:`);
