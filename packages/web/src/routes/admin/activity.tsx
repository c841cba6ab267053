import { createFileRoute } from '@tanstack/react-router';
import { ActivityPage } from '../../admin/activity/activity-page.tsx';
import { parseListSearch } from '../../search/list-search.ts';

export const Route = createFileRoute('/admin/activity')({
  validateSearch: (search: Record<string, unknown>) =>
    parseListSearch(search, ['q', 'about', 'days', 'from', 'to', 'who', 'thing']),
  component: function ActivityRoute() {
    const search = Route.useSearch();
    const navigate = Route.useNavigate();
    return (
      <ActivityPage search={search} onSearch={(next) => void navigate({ search: next, replace: true })} />
    );
  },
});
