import { createFileRoute } from '@tanstack/react-router';
import { SessionsPage } from '../../admin/sessions/sessions-page.tsx';
import { parseSessionSearch } from '../../search/session-search.ts';

export const Route = createFileRoute('/admin/sessions/')({
  validateSearch: parseSessionSearch,
  component: function SessionsRoute() {
    const search = Route.useSearch();
    const navigate = Route.useNavigate();
    return (
      <SessionsPage search={search} onSearch={(next) => void navigate({ search: next, replace: true })} />
    );
  },
});
