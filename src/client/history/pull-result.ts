/** What the service has done is done, so a failure to pull it is not the call's: the sync reports it and tries again. */
export async function pullResult(pull: () => Promise<void>): Promise<void> {
  await pull().catch(() => {})
}
