import { createFileRoute } from '@tanstack/react-router';
import { useState } from 'react';
import { JoinPage } from '../session/guests/join-page.tsx';

export const Route = createFileRoute('/join')({
  component: function JoinRoute() {
    // The secret is in the fragment, which browsers do not send to a server.
    const [secret] = useState(() => window.location.hash.slice(1));
    return <JoinPage secret={secret} />;
  },
});
