/** One round of each. Others than these two are shown beside them. */
export type Contenders = { service: Measure; limit?: Measure } & Record<string, Measure>
export type Measure = () => Promise<Figures>
/** By name of the line. A contender may leave some out. */
export type Figures = Record<string, number>
