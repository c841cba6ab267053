import { createFileRoute } from '@tanstack/react-router';
import { HostPage } from '../../admin/fleet/host-page.tsx';

export const Route = createFileRoute('/admin/hosts/$id')({
  component: function HostRoute() {
    const { id } = Route.useParams();
    return <HostPage key={id} id={id} />;
  },
});
