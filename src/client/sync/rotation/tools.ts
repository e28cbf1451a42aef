import type { bytesToBase64 } from '../../crypto/base64.ts'
import type { sealedLength } from '../../crypto/record.ts'
import type { uuidv7 } from '../../ids.ts'
import type { sealList } from '../edits/seal-list.ts'
import type { exchange } from '../exchange/exchange.ts'
import type { markOf, takeKeys } from '../exchange/key-marks.ts'
import type { pullAll } from '../exchange/pull.ts'

/** What the rotation shares with the sync's second file. If it imported that, bundlers would cut everything into small files. */
export interface RotationTools {
  bytesToBase64: typeof bytesToBase64
  sealedLength: typeof sealedLength
  uuidv7: typeof uuidv7
  sealList: typeof sealList
  exchange: typeof exchange
  markOf: typeof markOf
  pullAll: typeof pullAll
  takeKeys: typeof takeKeys
}
