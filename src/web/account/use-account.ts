import { useMemo } from 'preact/hooks'
import { type Account, openAccount } from '../../client/account.ts'
import { useApp } from '../app/context.ts'

export function useAccount(): Account {
  const app = useApp()
  return useMemo(() => openAccount(app), [app])
}
