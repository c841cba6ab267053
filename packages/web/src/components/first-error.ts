import type { FormEvent } from 'react';

/**
 * For a form that was sent with errors: focuses its first wrong field, which may be far out of view.
 * @param errors by the field's name, as Mantine's form hands them over
 */
export function focusFirstError(
  errors: Record<string, unknown>,
  _values: unknown,
  event: FormEvent<HTMLFormElement> | undefined,
): void {
  const fields = [...(event?.currentTarget.querySelectorAll<HTMLElement>('[data-path]') ?? [])];
  const first = fields.find((field) => (field.dataset.path ?? '') in errors);
  // A folded part opens only once the error has been drawn.
  setTimeout(() => first?.focus());
}
