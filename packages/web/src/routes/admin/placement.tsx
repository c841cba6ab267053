import { createFileRoute } from '@tanstack/react-router';
import { PlacementPage, type PlacementSearch } from '../../admin/sessions/placement-page.tsx';

export const Route = createFileRoute('/admin/placement')({
  validateSearch: ({ app, user }: Record<string, unknown>): PlacementSearch => ({
    ...(typeof app === 'string' && { app }),
    ...(typeof user === 'string' && { user }),
  }),
  component: function PlacementRoute() {
    const search = Route.useSearch();
    const navigate = Route.useNavigate();
    return (
      <PlacementPage search={search} onSearch={(next) => void navigate({ search: next, replace: true })} />
    );
  },
});
