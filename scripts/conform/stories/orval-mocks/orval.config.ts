const input = 'openapi.yaml'

export default {
  mocks: {
    input,
    // Faker, which is used otherwise, makes texts that the patterns and lengths of the contract refuse.
    output: { target: 'api.ts', client: 'fetch', mock: { generators: [{ type: 'msw', useExamples: true }] } },
  },
  zod: { input, output: { target: 'zod.ts', client: 'zod' } },
}
