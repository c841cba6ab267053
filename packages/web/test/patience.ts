import { configure } from '@testing-library/react';

// The library's own second is too short for a machine that works on something else at the same time.
configure({ asyncUtilTimeout: 60_000 });
