import type { Account, Api } from './api.ts'
import { pocketbase } from './pocketbase.ts'
import { pouchdb } from './pouchdb.ts'
import { service } from './service.ts'

export const apis: Record<Account['api'], Api> = { service, pocketbase, pouchdb }
