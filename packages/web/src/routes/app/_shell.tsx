import { createFileRoute } from '@tanstack/react-router';
import { UserShell } from '../../shell/user-shell.tsx';

export const Route = createFileRoute('/app/_shell')({ component: UserShell });
