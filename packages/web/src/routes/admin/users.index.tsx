import { createFileRoute } from '@tanstack/react-router';
import { UsersPage } from '../../admin/people/users-page.tsx';

export const Route = createFileRoute('/admin/users/')({ component: UsersPage });
