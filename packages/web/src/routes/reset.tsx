import { createFileRoute } from '@tanstack/react-router';
import { ResetPage } from '../account/reset-page.tsx';

export const Route = createFileRoute('/reset')({
  // Converts to text, because the router would read a token of digits as a number.
  validateSearch: (search: Record<string, unknown>): { token?: string } =>
    ({ token: typeof search.token === 'string' ? search.token : undefined }) as { token?: string },
  component: function ResetRoute() {
    return <ResetPage token={Route.useSearch().token ?? ''} />;
  },
});
