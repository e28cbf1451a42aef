import { useMemo } from 'preact/hooks'
import { createHistory, type History } from '../../client/history.ts'
import { useApp } from '../app/context.ts'

export function useHistory(): History {
  const app = useApp()
  return useMemo(() => createHistory(app), [app])
}
