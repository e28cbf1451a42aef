/** How many queries the database has answered since the start, and how long they took together. */
export interface QueryTimes {
  count: number
  ms: number
}

export function createQueryTimes(): QueryTimes {
  return { count: 0, ms: 0 }
}

/** @param began when they began, by `performance.now()` */
export function addQueries(times: QueryTimes, count: number, began: number): void {
  times.count += count
  times.ms += performance.now() - began
}
