import type { FormEvent } from 'react';
import { clock } from '../clock.ts';

/**
 * Focuses the first wrong field of a submitted form, which may be out of view.
 * @param errors by field name, as in Mantine's form
 */
export function focusFirstError(
  errors: Record<string, unknown>,
  _values: unknown,
  event: FormEvent<HTMLFormElement> | undefined,
): void {
  const fields = [...(event?.currentTarget.querySelectorAll<HTMLElement>('[data-path]') ?? [])];
  const first = fields.find((field) => (field.dataset.path ?? '') in errors);
  // A collapsed part expands after the error was rendered.
  clock.setTimeout(() => first?.focus(), 0);
}
