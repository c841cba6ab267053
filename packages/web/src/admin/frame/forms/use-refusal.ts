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
 * Puts a refusal of the server at the field that it names, which gets the focus.
 * @param error of the last attempt; null: none
 * @param aliases field by the name that the server uses, where the form has another one
 * @returns the error, where it is about no field of the form: the form shows it itself; otherwise null
 */
export function useRefusal<Values extends object>(
  form: UseFormReturnType<Values>,
  error: unknown,
  aliases?: Readonly<Record<string, string>>,
): unknown {
  const refused = refusedField(error, Object.keys(form.getValues()), aliases);
  // Told once: the next key in the field takes it away.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the field follows from the error
  useEffect(() => {
    if (refused !== null) form.setFieldError(refused.field, refused.words);
  }, [error]);
  useRefusedFocus(refused?.field, error);
  return refused === null ? error : null;
}
