import { createFileRoute } from '@tanstack/react-router';
import { LaunchProfilePage } from '../../admin/profiles/launch-profile-page.tsx';

export const Route = createFileRoute('/admin/profiles/$id')({
  component: function LaunchProfileRoute() {
    const { id } = Route.useParams();
    return <LaunchProfilePage key={id} id={id} />;
  },
});
