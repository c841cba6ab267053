import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';

/** Takes the last toast away when something else is asked for: beside a refusal, "It was saved" would be a lie. */
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
