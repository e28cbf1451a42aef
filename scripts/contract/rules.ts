/**
 * The plugin of redocly.yaml: rules that `redocly lint` lacks, and verdicts that `redocly diff` lacks or gives differently.
 * redocly.yaml turns them on, and says which version bump a change requires.
 */

import {
  bodyLimitLowered,
  connectionTightened,
  defaultChanged,
  headerUnpromised,
  requestBodyDemanded,
  requestPropertyRemoved,
  securityTightened,
  successAdded,
} from './rules/diff-operations.ts'
import {
  carriedByNoneChanged,
  clientNameAdded,
  clientNameRemoved,
  conditionChanged,
  harmlessChanged,
  tagChanged,
  unwrapAllOf,
  wordsChanged,
  writeOnlyAdded,
} from './rules/diff-schemas.ts'
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

const diff = {
  'carried-by-none-changed': carriedByNoneChanged,
  'condition-changed': conditionChanged,
  'default-changed': defaultChanged,
  'harmless-changed': harmlessChanged,
  'request-property-removed': requestPropertyRemoved,
  'words-changed': wordsChanged,
  'write-only-added': writeOnlyAdded,
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
    decorators: {
      oas3: { 'unwrap-all-of': unwrapAllOf },
      async3: { 'operations-name-their-channel': operationsNameTheirChannel, 'unwrap-all-of': unwrapAllOf },
    },
    diff: {
      oas3: {
        ...diff,
        'body-limit-lowered': bodyLimitLowered,
        'client-name-added': clientNameAdded,
        'client-name-removed': clientNameRemoved,
        'header-unpromised': headerUnpromised,
        'request-body-demanded': requestBodyDemanded,
        'security-tightened': securityTightened,
        'success-added': successAdded,
        'tag-changed': tagChanged,
      },
      async3: { ...diff, 'connection-tightened': connectionTightened },
    },
  }
}

/**
 * If a channel has operations in both directions, Redocly assumes that both sides send all of its messages. Without the
 * reference to the channel, a message belongs to the operations that list it.
 */
function operationsNameTheirChannel() {
  return {
    Operation: {
      leave(operation: { channel?: { $ref: string }; 'x-channel'?: string }) {
        if (operation.channel) operation['x-channel'] = operation.channel.$ref
        delete operation.channel
      },
    },
  }
}
