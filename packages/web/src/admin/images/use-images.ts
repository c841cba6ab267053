import type { CatalogImage } from '@footlight/protocol/rest';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { plural, t } from '../../i18n/translate.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';
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
  const name = image.display_name;
  const hosts = image.hosts.length;
  switch (action) {
    case 'install':
      await call('images.install', { params, body: { lazy: false } });
      return plural(
        hosts,
        '{name} is being installed on {n} host',
        '{name} is being installed on {n} hosts',
        { name },
      );
    case 'installLazily':
      await call('images.install', { params, body: { lazy: true } });
      return t('{name} is installed; each host fetches it with the first launch there', { name });
    case 'update': {
      const { applied } = await call('images.update', { params });
      return applied
        ? plural(
            hosts,
            '{name} {version} is being fetched by {n} host',
            '{name} {version} is being fetched by {n} hosts',
            { name, version: image.version },
          )
        : t('{name} {version} was installed already', { name, version: image.version });
    }
    case 'pin':
      await call('images.pin', { params });
      return image.installed_version === null
        ? t('{name} stays at its version', { name })
        : t('{name} stays at {version}', { name, version: image.installed_version });
    case 'unpin':
      await call('images.unpin', { params });
      return t('{name} may be updated again', { name });
    case 'uninstall':
      await call('images.uninstall', { params });
      return t('{name} was removed from the instance', { name });
  }
}
