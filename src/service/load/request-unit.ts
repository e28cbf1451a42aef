/**
 * So many bytes from a client count as a request. Stored as small changes, they take about as long as ten small requests; a
 * first sync is some hundred of them.
 */
export const requestUnit = 64 * 1024
