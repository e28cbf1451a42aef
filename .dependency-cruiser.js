/** The rules for the import graph, which `npm run check` enforces. Imports of types count. */

/**
 * The folders and files of src/ from the bottom up. Each may import only from itself and from those before it. The
 * browser's branch and the server's both begin with protocol/.
 */
const order = {
  browser: ['protocol', 'client', 'web'],
  server: [
    ...[
      'protocol',
      'event-loop.ts',
      'log.ts',
      'bundle.ts',
      'terminal',
      'tracing',
      'contract',
      'fair-queue.ts',
      'config',
      'seal',
      'db',
      'pulse',
      'provider',
      'auth',
      'sync',
    ],
    ...['objects', 'backup', 'exports', 'realtime', 'operating', 'operations', 'http', 'commands'],
    ...['context.ts', 'app.ts', 'printed.ts', 'start.ts', 'main.ts'],
  ],
}

const rooms = Object.values(order).flatMap((branch) =>
  branch.map((room, index) => ({ room, allowed: branch.slice(0, index + 1) })),
)

/** @param {string[]} names */
const inSrc = (names) => `^src/(${names.join('|').replaceAll('.', '\\.')})(/|$)`

const rules = [
  ...rooms.map(({ room, allowed }) => ({
    name: `src/${room} imports only what is below it`,
    from: { path: inSrc([room]) },
    to: { path: '^(src|scripts|test)/', pathNot: inSrc(allowed) },
  })),
  {
    name: 'everything in src has its place in the order',
    from: {},
    to: { path: '^src/', pathNot: inSrc(rooms.map(({ room }) => room)) },
  },
  {
    name: 'the client package does not import its entry /node',
    from: { path: '^src/(client|protocol|web)/', pathNot: '^src/client/node(/|\\.ts$)' },
    to: { path: '^src/client/node(/|\\.ts$)' },
  },
  {
    name: 'only /node of the client package needs Node',
    from: { path: '^src/(client|protocol|web)/', pathNot: '^src/client/node(/|\\.ts$)' },
    to: { dependencyTypes: ['core'] },
  },
  {
    name: '/testing stays out of apps',
    from: { path: '^src/(client|web)/', pathNot: '^src/client/testing(/|\\.ts$)' },
    to: { path: '^src/client/testing(/|\\.ts$)' },
  },
  { name: 'generated imports nothing', from: { path: '^generated/' }, to: {} },
  { name: 'no circles', from: {}, to: { circular: true } },
  { name: 'every import can be resolved', from: {}, to: { couldNotResolve: true } },
  {
    name: 'the service runs without development dependencies',
    // The development provider is only loaded in development.
    from: { path: inSrc(order.server), pathNot: '^src/provider/development/' },
    to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
  },
]

export default {
  forbidden: rules.map((rule) => ({ severity: 'error', ...rule })),
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    // They import what `npm run conform -- --clients` generates.
    exclude: { path: '^scripts/development/conform/stories/' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
}
