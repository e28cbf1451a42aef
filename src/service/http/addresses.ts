import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'

export type Detail = 'none' | 'network' | 'full'

/** An address as the log shows it. A network is shared by up to 256 hosts (IPv4), or belongs to one subscriber (IPv6). */
export function shownAddress(address: string, detail: Detail): string | undefined {
  if (detail === 'none') return undefined
  if (detail === 'full') return address
  if (isIPv4(address)) return `${address.slice(0, address.lastIndexOf('.'))}.0/24`
  if (!ipaddr.isValid(address)) return undefined
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return shownAddress(parsed.toString(), detail)
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString().replace(/%.*/, '')}/64`)}/64`
}
