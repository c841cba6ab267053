import { lazy, Suspense } from 'react';
import { LoginPage } from './account/login-page.tsx';
import { createQueryClient } from './api/query-client.ts';
import { awaitPad } from './focus/await-pad.ts';
import { mount } from './mount.tsx';

const RegisterPage = lazy(() =>
  import('./account/register-page.tsx').then((module) => ({ default: module.RegisterPage })),
);
const ResetPage = lazy(() =>
  import('./account/reset-page.tsx').then((module) => ({ default: module.ResetPage })),
);
const SignOnPage = lazy(() =>
  import('./account/sign-on-page.tsx').then((module) => ({ default: module.SignOnPage })),
);
const ClaimPage = lazy(() =>
  import('./account/claim-page.tsx').then((module) => ({ default: module.ClaimPage })),
);

/**
 * Shows the pages before sign-in in a separate document, without the router, whose code they do not need. These pages
 * navigate by loading new documents. The router also has the login page, for a person whose token has expired.
 */
export function startSignIn(): Promise<void> {
  awaitPad(() => {});
  return mount(createQueryClient(), <SignInPages />);
}

function SignInPages() {
  const { pathname, searchParams } = new URL(window.location.href);
  const next = searchParams.get('next') ?? undefined;
  if (pathname.startsWith('/register')) {
    return (
      <Suspense>
        <RegisterPage invite={searchParams.get('invite') ?? undefined} />
      </Suspense>
    );
  }
  if (pathname.startsWith('/reset')) {
    return (
      <Suspense>
        <ResetPage token={searchParams.get('token') ?? ''} />
      </Suspense>
    );
  }
  if (pathname === '/login/callback') {
    return (
      <Suspense>
        <SignOnPage />
      </Suspense>
    );
  }
  if (pathname.startsWith('/setup')) {
    return (
      <Suspense>
        <ClaimPage />
      </Suspense>
    );
  }
  return <LoginPage next={next} />;
}
