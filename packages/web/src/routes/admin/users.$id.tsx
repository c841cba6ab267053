import { createFileRoute } from '@tanstack/react-router';
import { UserPage } from '../../admin/people/user-page.tsx';

export const Route = createFileRoute('/admin/users/$id')({
  component: function UserRoute() {
    const { id } = Route.useParams();
    return <UserPage key={id} id={id} />;
  },
});
