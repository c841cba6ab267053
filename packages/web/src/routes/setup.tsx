import { createFileRoute } from '@tanstack/react-router';
import { ClaimPage } from '../account/claim-page.tsx';

export const Route = createFileRoute('/setup')({ component: ClaimPage });
