/**
 * The plugin of redocly.yaml, which turns them on: rules that `redocly lint` lacks.
 */

import {
  errorAnswers,
  errorTexts,
  examples,
  lowerCaseHeaders,
  noBareRefComponent,
  noRefSiblings,
  placedByLogin,
  securedAnswers,
} from './rules/lint-answers.ts'
import {
  described,
  freeNames,
  integerWidth,
  namedSchemas,
  plainBooleans,
  portablePatterns,
  requestMaximum,
  timeUnit,
  titledSchemas,
} from './rules/lint-schemas.ts'

const lint = {
  described,
  examples,
  'free-names': freeNames,
  'integer-width': integerWidth,
  'lower-case-headers': lowerCaseHeaders,
  'no-bare-ref-component': noBareRefComponent,
  'plain-booleans': plainBooleans,
  'portable-patterns': portablePatterns,
  'request-maximum': requestMaximum,
  'time-unit': timeUnit,
}

export default function contractRules(): object {
  return {
    id: 'house',
    rules: {
      oas3: {
        ...lint,
        'error-answers': errorAnswers,
        'error-texts': errorTexts,
        'named-schemas': namedSchemas,
        'no-ref-siblings': noRefSiblings,
        'placed-by-login': placedByLogin,
        'secured-answers': securedAnswers,
      },
      async3: { ...lint, 'titled-schemas': titledSchemas },
    },
  }
}
