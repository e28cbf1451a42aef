import { type DiffRule, nameOf, type Pair, typeOf } from './change.ts'

/** What AsyncAPI says beside messages: who may connect, and how. Redocly's rules leave it out. */
export const connectionTightened: DiffRule = () => ({
  SecuritySchemeList({ kind, node }, { report }) {
    if (kind === 'added') report({ message: `\`${nameOf(node.parent ?? node)}\` became guarded.` })
  },
  SecurityScheme({ kind, property, node, base, revision }, { report }) {
    if (kind === 'removed' && othersAreLeft(node.parent)) report({ message: `\`${nameOf(node)}\` is no longer taken.` })
    if (kind === 'modified' && ['type', 'in', 'name', 'scheme'].includes(property ?? ''))
      report({ message: `\`${property}\` of \`${nameOf(node)}\` was \`${base?.value}\`, now \`${revision?.value}\`.` })
  },
  Operation({ property, node, base, revision }, { report }) {
    if (property === 'x-channel')
      report({ message: `The channel of \`${nameOf(node)}\` was \`${base?.value}\`, now \`${revision?.value}\`.` })
  },
  WsChannelBinding({ property, base, revision }, { report }) {
    if (property === 'method') report({ message: `The upgrade was \`${base?.value}\`, now \`${revision?.value}\`.` })
  },
})

/** Without any, everyone is let in: nobody is refused. */
function othersAreLeft(list: Pair | null): boolean {
  return list !== null && typeOf(list) === 'SecuritySchemeList' && list.revision !== undefined
}
