import { createFileRoute } from '@tanstack/react-router';
import { LibraryPage } from '../../admin/library/library-page.tsx';
import { parseListSearch } from '../../search/list-search.ts';

export const Route = createFileRoute('/admin/library')({
  validateSearch: (search: Record<string, unknown>) => parseListSearch(search, ['app', 'user']),
  component: function LibraryRoute() {
    const search = Route.useSearch();
    const navigate = Route.useNavigate();
    return (
      <LibraryPage search={search} onSearch={(next) => void navigate({ search: next, replace: true })} />
    );
  },
});
