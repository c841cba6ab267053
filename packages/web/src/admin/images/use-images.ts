import type { CatalogImage } from '@footlight/protocol/rest';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { countLabel } from '../frame/quantity-labels.ts';
import { isAdvancing } from './image-labels.ts';

/**
 * Refresh interval while an image is pulled or built. So progress is shown within 3 s, even if the server answers
 * slowly.
 */
const ADVANCING_MS = 1_000;
const CALM_MS = 2_500;

/** The image catalog with the state on hosts, refreshed while the page is visible. */
export function useImages() {
  return useQuery({
    queryKey: adminKeys.images,
    queryFn: ({ signal }) => call('images.list', { signal }),
    refetchInterval: ({ state }) => (isAdvancing(state.data?.images) ? ADVANCING_MS : CALM_MS),
  });
}

export type ImageAction = 'install' | 'installLazily' | 'update' | 'pin' | 'unpin' | 'uninstall';

/** One action on an image; a refusal replaces the last success message. */
export function useImageAction() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: ({ image, action }: { image: CatalogImage; action: ImageAction }) => perform(image, action),
    onMutate: () => notifications.clean(),
    onSuccess: (message) => notifications.show({ message, autoClose: 6000 }),
    onSettled: () =>
      Promise.all(
        [adminKeys.images, adminKeys.presets].map((queryKey) => queryClient.invalidateQueries({ queryKey })),
      ),
  });
}

/** @returns a message that describes the finished action */
async function perform(image: CatalogImage, action: ImageAction): Promise<string> {
  const params = { id: image.id };
  const hosts = countLabel(image.hosts.length, 'host');
  switch (action) {
    case 'install':
      await call('images.install', { params, body: { lazy: false } });
      return `${image.display_name} is being installed on ${hosts}`;
    case 'installLazily':
      await call('images.install', { params, body: { lazy: true } });
      return `${image.display_name} is installed; each host fetches it with the first launch there`;
    case 'update': {
      const { applied } = await call('images.update', { params });
      return applied
        ? `${image.display_name} ${image.version} is being fetched by ${hosts}`
        : `${image.display_name} ${image.version} was installed already`;
    }
    case 'pin':
      await call('images.pin', { params });
      return `${image.display_name} stays at ${image.installed_version ?? 'its version'}`;
    case 'unpin':
      await call('images.unpin', { params });
      return `${image.display_name} may be updated again`;
    case 'uninstall':
      await call('images.uninstall', { params });
      return `${image.display_name} was removed from the instance`;
  }
}
