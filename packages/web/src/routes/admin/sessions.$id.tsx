import { createFileRoute } from '@tanstack/react-router';
import { DiagnosisPage } from '../../admin/diagnosis/diagnosis-page.tsx';
import { parseDiagnosisSearch } from '../../search/diagnosis-search.ts';

export const Route = createFileRoute('/admin/sessions/$id')({
  validateSearch: parseDiagnosisSearch,
  component: function DiagnosisRoute() {
    const { id } = Route.useParams();
    const search = Route.useSearch();
    const navigate = Route.useNavigate();
    return (
      <DiagnosisPage key={id} id={id} search={search} onSearch={(next) => void navigate({ search: next })} />
    );
  },
});
