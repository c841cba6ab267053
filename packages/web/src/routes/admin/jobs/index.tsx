import { createFileRoute } from '@tanstack/react-router';
import { JobsPage } from '../../../admin/jobs/jobs-page.tsx';
import { parseListSearch } from '../../../search/list-search.ts';

export const Route = createFileRoute('/admin/jobs/')({
  validateSearch: (search: Record<string, unknown>) => parseListSearch(search, ['q', 'state', 'sort']),
  component: function JobsRoute() {
    const search = Route.useSearch();
    const navigate = Route.useNavigate();
    return <JobsPage search={search} onSearch={(next) => void navigate({ search: next, replace: true })} />;
  },
});
