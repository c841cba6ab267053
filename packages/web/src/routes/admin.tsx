import { createFileRoute, redirect } from '@tanstack/react-router';
import { AdminShell } from '../admin/frame/admin-shell.tsx';
import { readToken, readUser } from '../api/auth-store.ts';

export const Route = createFileRoute('/admin')({
  beforeLoad: ({ location }) => {
    if (readToken() === null || readUser()?.role !== 'admin') {
      throw redirect({ to: '/login', search: { next: location.href }, replace: true });
    }
  },
  component: AdminShell,
});
