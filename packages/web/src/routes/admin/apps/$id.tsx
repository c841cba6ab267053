import { createFileRoute } from '@tanstack/react-router';
import { EditAppPage } from '../../../admin/apps/edit-app-page.tsx';

export const Route = createFileRoute('/admin/apps/$id')({
  component: function AppRoute() {
    const { id } = Route.useParams();
    return <EditAppPage key={id} id={id} />;
  },
});
