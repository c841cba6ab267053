import { createFileRoute, redirect } from '@tanstack/react-router';
import { readToken } from '../api/auth-store.ts';
import { safeNext } from '../api/next-path.ts';

export const Route = createFileRoute('/app')({
  beforeLoad: ({ location }) => {
    if (readToken() === null) {
      const next = safeNext(location.href);
      throw redirect({ to: '/login', search: next === '/app' ? {} : { next }, replace: true });
    }
  },
});
