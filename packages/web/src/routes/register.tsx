import { createFileRoute } from '@tanstack/react-router';
import { RegisterPage } from '../account/register-page.tsx';

export const Route = createFileRoute('/register')({
  validateSearch: (search: Record<string, unknown>): { invite?: string } =>
    typeof search.invite === 'string' ? { invite: search.invite } : {},
  component: function RegisterRoute() {
    return <RegisterPage invite={Route.useSearch().invite} />;
  },
});
