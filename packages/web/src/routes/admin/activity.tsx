import { createFileRoute } from '@tanstack/react-router';
import { ActivityPage } from '../../admin/activity/activity-page.tsx';
import { parseActivitySearch } from '../../search/activity-search.ts';

export const Route = createFileRoute('/admin/activity')({
  validateSearch: parseActivitySearch,
  component: function ActivityRoute() {
    const search = Route.useSearch();
    const navigate = Route.useNavigate();
    return (
      <ActivityPage search={search} onSearch={(next) => void navigate({ search: next, replace: true })} />
    );
  },
});
