import { createFileRoute } from '@tanstack/react-router';
import { SessionPage } from '../../session/session-page.tsx';

export const Route = createFileRoute('/app/session/$id')({
  component: function SessionRoute() {
    const { id } = Route.useParams();
    return <SessionPage key={id} id={id} />;
  },
});
