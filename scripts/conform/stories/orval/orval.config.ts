export default {
  bookmarks: {
    input: 'openapi.yaml',
    output: { target: 'client.ts', client: 'fetch', override: { mutator: { path: 'send.ts', name: 'send' } } },
  },
}
