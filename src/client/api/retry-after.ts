/** The service always sends seconds, never a date. */
export function retryAfterMs({ headers }: Response): number | undefined {
  const seconds = headers.get('retry-after')
  return seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) * 1000 : undefined
}
