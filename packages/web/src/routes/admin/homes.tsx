import { createFileRoute } from '@tanstack/react-router';
import { HomesPage } from '../../admin/storage/homes-page.tsx';
import { parseListSearch } from '../../search/list-search.ts';

export const Route = createFileRoute('/admin/homes')({
  validateSearch: (search: Record<string, unknown>) =>
    parseListSearch(search, ['user', 'app', 'state', 'sort']),
  component: function HomesRoute() {
    const search = Route.useSearch();
    const navigate = Route.useNavigate();
    return <HomesPage search={search} onSearch={(next) => void navigate({ search: next, replace: true })} />;
  },
});
