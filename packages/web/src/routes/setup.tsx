import { createFileRoute } from '@tanstack/react-router';
import { ClaimPage } from '../setup/claim-page.tsx';

export const Route = createFileRoute('/setup')({ component: ClaimPage });
