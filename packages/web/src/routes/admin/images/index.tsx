import { createFileRoute } from '@tanstack/react-router';
import { ImagesPage } from '../../../admin/images/images-page.tsx';
import { parseListSearch } from '../../../search/list-search.ts';

export const Route = createFileRoute('/admin/images/')({
  validateSearch: (search: Record<string, unknown>) => parseListSearch(search, ['q', 'state', 'sort']),
  component: function ImagesRoute() {
    const search = Route.useSearch();
    const navigate = Route.useNavigate();
    return <ImagesPage search={search} onSearch={(next) => void navigate({ search: next, replace: true })} />;
  },
});
