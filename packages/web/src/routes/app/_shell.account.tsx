import { createFileRoute } from '@tanstack/react-router';
import { AccountPage } from '../../account/account-page.tsx';

export const Route = createFileRoute('/app/_shell/account')({ component: AccountPage });
