import type { KeyboardLayout } from '@footlight/protocol/input';
import type { UiPreferences } from '@footlight/protocol/rest';
import type { StreamClient } from '@footlight/stream-client';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useState } from 'react';
import { keys } from '../api/query-keys.ts';

/** The person's keyboard, as the session page needs it. */
export interface OwnKeyboard {
  /** the layout that the browser reports; null: not known yet */
  detected: KeyboardLayout | null;
  /** the person's choice for this device; null: the detected layout is used */
  chosen: KeyboardLayout | null;
  choose: (layout: KeyboardLayout | null) => void;
}

/**
 * Sets the keyboard's layout in the session: the layout that the account stores for this device, otherwise the detected
 * one. The rules and the list of layouts are a separate file, so that the picture does not wait for them.
 * @param settings of the web client; undefined: not loaded
 */
export function useKeyboardLayout(
  client: StreamClient | null,
  settings: UiPreferences | undefined,
): OwnKeyboard {
  const queryClient = useQueryClient();
  const [detected, setDetected] = useState<KeyboardLayout | null>(null);
  const [chosen, setChosen] = useState<KeyboardLayout | null>(null);

  useEffect(() => {
    if (client === null) return;
    let gone = false;
    // If the file cannot be loaded, the session keeps its own layout.
    void import('./detect-layout.ts')
      .then(async ({ detectLayout, readKeyboard }) => detectLayout(await readKeyboard()))
      .then((layout) => !gone && setDetected(layout))
      .catch(() => undefined);
    return () => {
      gone = true;
    };
  }, [client]);

  useEffect(() => {
    if (settings === undefined) return;
    let gone = false;
    void import('./kept-layout.ts')
      .then(({ keptLayout }) => !gone && setChosen(keptLayout(settings)))
      .catch(() => undefined);
    return () => {
      gone = true;
    };
  }, [settings]);

  const layout = chosen ?? detected;
  useEffect(() => {
    if (layout !== null) client?.setKeyboardLayout(layout);
  }, [client, layout]);

  const choose = useCallback(
    (choice: KeyboardLayout | null) => {
      setChosen(choice);
      // If the account cannot store the choice, it lasts for this visit.
      void import('./kept-layout.ts')
        .then(({ keepLayout }) => keepLayout(choice))
        .then((now) => queryClient.setQueryData(keys.uiPreferences, now))
        .catch(() => undefined);
    },
    [queryClient],
  );
  return { detected, chosen, choose };
}
