import { createFileRoute } from '@tanstack/react-router';
import { LoginPage } from '../account/login-page.tsx';

export const Route = createFileRoute('/login')({
  validateSearch: (search: Record<string, unknown>): { next?: string } =>
    ({ next: typeof search.next === 'string' ? search.next : undefined }) as { next?: string },
  component: function LoginRoute() {
    return <LoginPage next={Route.useSearch().next} />;
  },
});
