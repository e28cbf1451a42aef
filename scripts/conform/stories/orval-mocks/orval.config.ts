const input = 'openapi.yaml'

export default {
  mocks: {
    input,
    // Uses the contract's examples. By default, Faker makes texts that violate the contract's patterns and lengths.
    output: { target: 'api.ts', client: 'fetch', mock: { generators: [{ type: 'msw', useExamples: true }] } },
  },
  zod: { input, output: { target: 'zod.ts', client: 'zod' } },
}
