import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';

/** Removes the last toast when another action is requested: next to a refusal, "It was saved" would be wrong. */
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
