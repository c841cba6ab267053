import { createFileRoute } from '@tanstack/react-router';
import { SessionPage } from '../../admin/sessions/session-page.tsx';
import { parseDiagnosisSearch } from '../../search/diagnosis-search.ts';

export const Route = createFileRoute('/admin/sessions/$id')({
  validateSearch: parseDiagnosisSearch,
  component: function SessionRoute() {
    const { id } = Route.useParams();
    const search = Route.useSearch();
    const navigate = Route.useNavigate();
    return (
      <SessionPage key={id} id={id} search={search} onSearch={(next) => void navigate({ search: next })} />
    );
  },
});
