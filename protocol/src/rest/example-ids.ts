/** Ids that the examples of operations share, so that the examples refer to the same things. */
export const exampleIds = {
  admin: '0c2f5b0e-7a55-4b0e-9a3e-5d3c1f0a7b21',
  alice: '7f9c24e8-3b0a-4d1f-9c5e-2a6b8d40e713',
  app: '5a4f3c52-9d0e-4c11-8a53-0d6c8f5f2a10',
  certification: '6b1f0d2e-84c7-4f3a-9e15-7a2d9c40b8f6',
  certificationRun: 'c81d5f3a-2e94-4b06-8d7f-15a0e6b3f942',
  device: '3f2b7c52-9d2e-4b57-8a3e-0c1d5e6f7a80',
  enrollmentToken: '9a4f0c83-27de-4b15-86fa-c1d95e7b3082',
  entitlement: '9c9d0c1c-5c3a-4a8e-b3f4-0b8f7f1d2e43',
  gpu: '51b7e2f4-8a06-4d9c-b3e5-f07c69d1a824',
  guest: '8d0a4c7e-16f3-4b92-8a5d-3e9f7b2c6014',
  host: 'e30a6f9d-1c58-4b72-95de-84b1f7c2a603',
  invite: '3b2a1908-7f6e-4d5c-8b4a-392817f6e5d4',
  preset: '2f1d7c60-58a5-4a0a-9d1f-6a2b9c4e7d54',
  session: 'b4e1c7a0-5f2d-4c83-a6b9-0d7e31f8c254',
} as const;
