import { useEffect } from 'react';

/** Sets the document's title, which screen readers announce on page changes. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = title === 'Footlight' ? title : `${title} · Footlight`;
  }, [title]);
}
