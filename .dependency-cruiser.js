/** The rules for the import graph, which `npm run check` enforces. Imports of types count. */

/** The programs of src/, and the arrows between them. generated/ lies below all. */
const programs = {
  protocol: [],
  service: ['protocol'],
  client: ['protocol'],
  web: ['client'],
  extension: ['client'],
}

/** The rooms of a program from the ground up. Each may import only from itself and from those before it. */
const rooms = {
  service: [
    ...['journal.ts', 'log.ts', 'bundle.ts', 'terminal', 'tracing', 'contract', 'load', 'config', 'seal'],
    ...[
      'db/schema.ts',
      'db/engine',
      'db/tables',
      'db/migrations',
      'db/migrate.ts',
      'db/whole.ts',
      'db/distribute.ts',
      'db/for-command.ts',
      'db/open.ts',
    ],
    ...['notices', 'provider', 'auth', 'sync'],
    ...['objects', 'backup', 'exports', 'realtime', 'operating', 'upkeep', 'operations', 'http'],
    ...['context.ts', 'app.ts', 'printed.ts', 'start.ts', 'commands', 'main.ts', 'testing.ts'],
  ],
  client: [
    ...['errors.ts', 'ids.ts', 'feature.ts', 'database.ts', 'timing', 'bookmark.ts', 'bookmark', 'extra.ts'],
    ...['api', 'calls.ts', 'crypto', 'bookmark-file', 'bookmark-file.ts', 'export-file', 'crypto.ts'],
    ...['vault', 'pair.ts', 'sync', 'undo.ts', 'account.ts', 'history.ts', 'react.ts', 'worker.ts', 'index.ts'],
    ...['node', 'node.ts', 'testing', 'testing.ts'],
  ],
  extension: [
    ...['sync.ts', 'browser-api.ts', 'socket.ts', 'browser-mirror.ts', 'trees.ts', 'order.ts', 'agreed.ts'],
    ...['testing.ts', 'removal-guard.ts', 'pair.ts', 'moved.ts', 'merge.ts', 'copies.ts', 'to-browser.ts'],
    ...['to-service.ts', 'compare.ts', 'browser-sync.ts', 'groups', 'index.ts', 'visits', 'app'],
  ],
  web: [
    // The catalogues name the pictures.
    ...['pairing/shapes.ts', 'words', 'modules.d.ts', 'ui', 'offline', 'session'],
    ...['vault', 'pairing', 'account', 'sign-in'],
    ...['library', 'stars', 'groups', 'visits', 'seen', 'history', 'conflicts', 'settings', 'sidebar', 'command-bar'],
    ...['app', 'main.tsx'],
  ],
}

/** @param {string[]} names */
const inSrc = (names) => `^src/(${names.join('|').replaceAll('.', '\\.')})(/|$)`
/** @param {string} program @param {string[]} names */
const inProgram = (program, names) => inSrc(names.map((name) => `${program}/${name}`))

const rules = [
  ...Object.entries(programs).map(([program, below]) => ({
    name: `src/${program} imports only what is below it`,
    from: { path: inSrc([program]) },
    to: { path: '^(src|scripts|bench|test)/', pathNot: inSrc([program, ...below]) },
  })),
  ...Object.entries(rooms).flatMap(([program, names]) =>
    names.map((room, index) => ({
      name: `src/${program}/${room} imports only what is below it`,
      from: { path: inProgram(program, [room]) },
      to: { path: inSrc([program]), pathNot: inProgram(program, names.slice(0, index + 1)) },
    })),
  ),
  {
    name: 'everything in src has its place in the order',
    from: {},
    to: {
      path: '^src/',
      pathNot: [
        inSrc(Object.keys(programs).filter((program) => !(program in rooms))),
        ...Object.entries(rooms).map(([program, names]) => inProgram(program, names)),
      ],
    },
  },
  {
    name: 'the client package does not import its entry /node',
    from: { path: '^src/(client|extension|protocol|web)/', pathNot: '^src/client/node(/|\\.ts$)' },
    to: { path: '^src/client/node(/|\\.ts$)' },
  },
  {
    name: 'only /node of the client package needs Node',
    from: { path: '^src/(client|extension|protocol|web)/', pathNot: '^src/client/node(/|\\.ts$)' },
    to: { dependencyTypes: ['core'] },
  },
  {
    name: '/testing stays out of apps',
    from: { path: '^src/(client|extension|web)/', pathNot: '^src/(client|extension)/testing(/|\\.ts$)' },
    to: { path: '^src/(client|extension)/testing(/|\\.ts$)' },
  },
  {
    // There, esbuild leaves a package of CommonJS no name but `default`, which is all that is used of the driver.
    name: 'the service loads late only files of its own: in the bundle, packages may lose their names',
    from: { path: '^src/service/' },
    to: { dynamic: true, path: '(^|/)node_modules/', pathNot: 'node_modules/better-sqlite3/' },
  },
  { name: 'generated imports nothing', from: { path: '^generated/' }, to: {} },
  { name: 'no circles', from: {}, to: { circular: true } },
  { name: 'every import can be resolved', from: {}, to: { couldNotResolve: true } },
  {
    name: 'the service runs without development dependencies',
    // The development provider is only loaded in development.
    from: { path: inSrc(['protocol', 'service']), pathNot: '^src/service/provider/development/' },
    to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
  },
]

export default {
  forbidden: rules.map((rule) => ({ severity: 'error', ...rule })),
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    // They import what `npm run conform -- --clients` generates.
    exclude: { path: '^scripts/conform/stories/' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
}
