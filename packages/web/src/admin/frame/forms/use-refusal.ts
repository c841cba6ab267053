import type { UseFormReturnType } from '@mantine/form';
import { useEffect } from 'react';
import { clock } from '../../../clock.ts';
import { refusedField } from './refused-field.ts';

/**
 * Focuses the field that a refusal names, which scrolls the field into view.
 * @param field its `data-path`; undefined: no field
 * @param error of the last attempt: each error focuses the field once
 */
export function useRefusedFocus(field: string | undefined, error: unknown): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the field follows from the error
  useEffect(() => {
    if (field === undefined) return;
    // Waits for the next turn, because a collapsed part expands only after the error was rendered.
    const timer = clock.setTimeout(
      () => document.querySelector<HTMLElement>(`[data-path="${field}"]`)?.focus(),
      0,
    );
    return () => timer.cancel();
  }, [error]);
}

/**
 * Shows a refusal of the server at the field that it names, and focuses this field.
 * @param error of the last attempt; null: no error
 * @param aliases field by the server's name, if the form uses another name
 * @returns the error if it is about no field, so that the form must show it; otherwise null
 */
export function useRefusal<Values extends object>(
  form: UseFormReturnType<Values>,
  error: unknown,
  aliases?: Readonly<Record<string, string>>,
): unknown {
  const refused = refusedField(error, Object.keys(form.getValues()), aliases);
  // Set once: the next key in the field removes it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the field follows from the error
  useEffect(() => {
    if (refused !== null) form.setFieldError(refused.field, refused.label);
  }, [error]);
  useRefusedFocus(refused?.field, error);
  return refused === null ? error : null;
}
