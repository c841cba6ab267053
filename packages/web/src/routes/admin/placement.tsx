import { createFileRoute } from '@tanstack/react-router';
import { PlacementPage, type PlacementSearch } from '../../admin/sessions/placement-page.tsx';
import { parseListSearch } from '../../search/list-search.ts';

export const Route = createFileRoute('/admin/placement')({
  validateSearch: (search: Record<string, unknown>): PlacementSearch =>
    parseListSearch(search, ['app', 'user']),
  component: function PlacementRoute() {
    const search = Route.useSearch();
    const navigate = Route.useNavigate();
    return (
      <PlacementPage search={search} onSearch={(next) => void navigate({ search: next, replace: true })} />
    );
  },
});
