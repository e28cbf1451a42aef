/**
 * The plugin of redocly.yaml with rules that `redocly lint` lacks. redocly.yaml turns each on for the documents that it
 * is made for.
 */
import { answerRules } from './rules/lint-answers.ts'
import { schemaRules } from './rules/lint-schemas.ts'

/** The rules, named after their functions in the notation of redocly.yaml. */
const rules = Object.fromEntries(
  Object.entries({ ...answerRules, ...schemaRules }).map(([name, rule]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    rule,
  ]),
)

export default function contractRules(): object {
  return { id: 'house', rules: { oas3: rules, async3: rules } }
}
