import { createFileRoute } from '@tanstack/react-router';
import { JobPage } from '../../../admin/jobs/job-page.tsx';
import { parseListSearch } from '../../../search/list-search.ts';

export const Route = createFileRoute('/admin/jobs/$id')({
  validateSearch: (search: Record<string, unknown>) => parseListSearch(search, ['host']),
  component: function JobRoute() {
    const { id } = Route.useParams();
    const search = Route.useSearch();
    const navigate = Route.useNavigate();
    return (
      <JobPage
        key={id}
        id={id}
        search={search}
        onSearch={(next) => void navigate({ search: next, replace: true })}
      />
    );
  },
});
