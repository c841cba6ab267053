import { createFileRoute } from '@tanstack/react-router';
import { LoginPage } from '../account/login-page.tsx';

export const Route = createFileRoute('/login')({
  validateSearch: (search: Record<string, unknown>): { next?: string } =>
    typeof search.next === 'string' ? { next: search.next } : {},
  component: function LoginRoute() {
    return <LoginPage next={Route.useSearch().next} />;
  },
});
