import { type DiffRule, nameOf } from './change.ts'

/** These names are never sent, but without them, code that uses the client's types no longer compiles. */
export const clientNameRemoved: DiffRule = () => ({
  NamedSchemas: {
    Schema({ kind, property, node, base, revision }, { report }) {
      if (kind === 'removed') report({ message: `The type \`${nameOf(node)}\` is gone.` })
      if (property === 'key') report({ message: `The type \`${base?.value}\` is now \`${revision?.value}\`.` })
    },
  },
  PathItem({ property, base, revision }, { report }) {
    if (property === 'key') report({ message: `Calls of \`${base?.value}\` are now written \`${revision?.value}\`.` })
  },
  Parameter({ property, base, revision }, { report }) {
    if (property === 'name') report({ message: `The parameter \`${base?.value}\` is now \`${revision?.value}\`.` })
  },
})

export const clientNameAdded: DiffRule = () => ({
  NamedSchemas: {
    Schema({ kind, node }, { report }) {
      if (kind === 'added') report({ message: `The type \`${nameOf(node)}\` is new.` })
    },
  },
})
