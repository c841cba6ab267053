import { createFileRoute } from '@tanstack/react-router';
import { DiscoveryPage } from '../../admin/discovery/discovery-page.tsx';
import { parseListSearch } from '../../search/list-search.ts';

export const Route = createFileRoute('/admin/discovery')({
  validateSearch: (search: Record<string, unknown>) => parseListSearch(search, ['app', 'user']),
  component: function LibraryRoute() {
    const search = Route.useSearch();
    const navigate = Route.useNavigate();
    return (
      <DiscoveryPage search={search} onSearch={(next) => void navigate({ search: next, replace: true })} />
    );
  },
});
