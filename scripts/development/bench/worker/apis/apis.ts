import type { Account, Api } from './api.ts'
import { service } from './service.ts'

export const apis: Record<Account['api'], Api> = { service }
