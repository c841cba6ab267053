import type { Page } from 'playwright-core';

/**
 * The controls of a page that are too small for a finger: smaller than 44 × 44 CSS px (WCAG 2.5.5), each with its size.
 * If a dialog is open, only its controls. A label counts as part of its control, and a link within a sentence counts as
 * text.
 */
export function smallControls(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const LEAST = 44;
    const found: string[] = [];
    const open = document.querySelector('dialog[open]');
    const controls = (open ?? document).querySelectorAll<HTMLElement>(
      'a[href], button, input, select, textarea, summary, [role=button], [role=tab], [role=switch], [role=option]',
    );
    for (const control of controls) {
      if (!control.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      const labels = control instanceof HTMLInputElement ? [...(control.labels ?? [])] : [];
      const boxes = [control, ...labels].map((each) => each.getBoundingClientRect());
      const width = Math.max(...boxes.map((each) => each.width));
      const height = Math.max(...boxes.map((each) => each.height));
      // Visually hidden, for a screen reader or a label.
      if (width <= 1 || height <= 1) continue;
      const isText =
        control.tagName === 'A' &&
        getComputedStyle(control).display === 'inline' &&
        control.parentElement?.textContent !== control.textContent;
      if (isText || (Math.round(width) >= LEAST && Math.round(height) >= LEAST)) continue;
      const words = (control.ariaLabel ?? control.textContent ?? '').trim().slice(0, 40);
      const type = control.getAttribute('type') ?? '';
      found.push(
        `${control.tagName.toLowerCase()} ${type} “${words}” ${Math.round(width)}×${Math.round(height)} .${control.className}`,
      );
    }
    return [...new Set(found)];
  });
}
