import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';

/**
 * Removes the last toast when another action starts. Otherwise "It was saved" could stand next to the refusal of the
 * new action.
 */
export function useClearedToasts(): void {
  const client = useQueryClient();
  useEffect(
    () =>
      client.getMutationCache().subscribe(({ type }) => {
        if (type === 'added') notifications.clean();
      }),
    [client],
  );
}
