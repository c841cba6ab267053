import type { UseFormReturnType } from '@mantine/form';
import { useEffect } from 'react';
import { clock } from '../../../clock.ts';
import { refusedField } from './refused-field.ts';

/**
 * Focuses the field that a refusal names, which brings it into view.
 * @param field its `data-path`; undefined: none
 * @param error of the last attempt: each one focuses once
 */
export function useRefusedFocus(field: string | undefined, error: unknown): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the field follows from the error
  useEffect(() => {
    if (field === undefined) return;
    // A collapsed part expands after the error was rendered.
    const timer = clock.setTimeout(
      () => document.querySelector<HTMLElement>(`[data-path="${field}"]`)?.focus(),
      0,
    );
    return () => timer.cancel();
  }, [error]);
}

/**
 * Shows a refusal of the server at the field that it names, and focuses it.
 * @param error of the last attempt; null: none
 * @param aliases field by the server's name, if the form uses another name
 * @returns the error if it is about no field of the form, so that the form shows it; otherwise null
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
    if (refused !== null) form.setFieldError(refused.field, refused.words);
  }, [error]);
  useRefusedFocus(refused?.field, error);
  return refused === null ? error : null;
}
