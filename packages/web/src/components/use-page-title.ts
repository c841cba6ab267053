import { useEffect } from 'react';

/** Names the document; screen readers and the tab read it on every change of page. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = title === 'Footlight' ? title : `${title} · Footlight`;
  }, [title]);
}
