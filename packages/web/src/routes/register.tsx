import { createFileRoute } from '@tanstack/react-router';
import { RegisterPage } from '../account/register-page.tsx';

export const Route = createFileRoute('/register')({
  validateSearch: (search: Record<string, unknown>): { invite?: string } =>
    ({ invite: typeof search.invite === 'string' ? search.invite : undefined }) as { invite?: string },
  component: function RegisterRoute() {
    return <RegisterPage invite={Route.useSearch().invite} />;
  },
});
