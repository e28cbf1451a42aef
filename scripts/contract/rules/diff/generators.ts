import { ancestors, type DiffRule, nameOf, typeOf } from './change.ts'

/** Generated clients have a class for each tag, and the methods of the operations whose first tag it is. */
export const tagChanged: DiffRule = () => ({
  any({ property, node, base, revision }, { report }) {
    if (property !== 'tags') return
    const [before, after] = [base, revision].map((side) => (Array.isArray(side?.value) ? side.value[0] : undefined))
    if (before !== after)
      report({ message: `The first tag of \`${nameOf(node)}\` changed from \`${before}\` to \`${after}\`.` })
  },
})

/** Generated clients do not read it from a response. */
export const writeOnlyAdded: DiffRule = () => ({
  Schema({ property, node, revision }, { report }) {
    // By the new value, the field is in no response any more, so the context gives no direction.
    const isResponse = ancestors(node).some((each) => typeOf(each) === 'Response')
    if (property === 'writeOnly' && revision?.value === true && isResponse)
      report({ message: `\`${nameOf(node)}\` is now \`writeOnly\`, so it is missing in responses.` })
  },
})

/** `allOf` around one `$ref` means what the `$ref` alone means: it only gives it a place for a description. */
export function unwrapAllOf() {
  return {
    Schema: {
      leave(schema: { allOf?: object[] }) {
        const [only, ...others] = schema.allOf ?? []
        const isWrapper = Object.keys(schema).every((keyword) => ['allOf', 'description'].includes(keyword))
        if (!only || others.length > 0 || !isWrapper || !('$ref' in only)) return
        delete schema.allOf
        Object.assign(schema, only)
      },
    },
  }
}
