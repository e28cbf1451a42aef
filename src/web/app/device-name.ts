import { useApp } from './context.ts'

/** What a device is called: what its id says of it and, so that two of a kind differ, the end of the id. */
export function useDeviceName(): (id: string) => string {
  const { device } = useApp()
  return (id) => (id === device.id ? 'This browser' : nameOfDevice(id))
}

function nameOfDevice(id: string): string {
  const [, kind, code] = /^(.*?)-?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{8}([0-9a-f]{4})$/.exec(id) ?? []
  if (kind === undefined) return id
  return `${kinds[kind] ?? kind.replaceAll('-', ' ')} (${code})`
}

const kinds: Record<string, string> = { '': 'A device', web: 'A browser', demo: 'A second device' }
