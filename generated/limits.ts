// Written by `npm run generate`. Do not edit.
export const Id = {"minLength":1,"maxLength":128,"pattern":"^(\\.*[ -,\\-\\/0-~][ -~]*|\\.{3,})$"} as const
export const EncryptedData = {"minLength":1,"maxLength":262144,"pattern":"^[ -~]+$"} as const
export const DataHash = {"minLength":1,"maxLength":128,"pattern":"^[ -~]+$"} as const
export const Milliseconds = {"minimum":0,"maximum":9007199254740991} as const
export const Seconds = {"minimum":0,"maximum":253402300799} as const
export const LoginRequest = {"returnTo":{"maxLength":2048}} as const
export const RewindRequest = {"cursor":{"maxLength":154,"pattern":"^[0-9]{1,16}/(bookmark|group|history)/[ -~]{1,128}$"}} as const
export const Change = {"user_id":{"maxLength":128,"pattern":"^[ -~]*$"},"base":{"minimum":0,"maximum":9007199254740991},"merged_up_to":{"minimum":0,"maximum":9007199254740991},"made_on":{"minLength":1,"maxLength":128,"pattern":"^(\\.*[ -,\\-\\/0-~][ -~]*|\\.{3,})$"},"overwritten":{"maxItems":16}} as const
export const SyncEvent = {"overwritten":{"maxItems":16}} as const
export const LostEpoch = {"minLength":36,"maxLength":36,"pattern":"^[0-9a-f\\-]+$"} as const
export const PullRequest = {"since":{"minimum":0,"maximum":9007199254740991},"limit":{"minimum":1,"maximum":10000},"entity_types":{"minItems":1,"maxItems":3}} as const
export const PushRequest = {"changes":{"maxItems":500}} as const
export const ImportRequest = {"bookmarks":{"maxItems":500}} as const
export const ExportKey = {"key":{"minLength":44,"maxLength":44,"pattern":"^[A-Za-z0-9+\\/]{42}[AEIMQUYcgkosw048]=$"}} as const
export const PairingMessage = {"step":{"minimum":0,"maximum":9},"message":{"minLength":4,"maxLength":16384,"pattern":"^[A-Za-z0-9+\\/]+={0,2}$"}} as const
export const DeviceName = {"encrypted_name":{"minLength":4,"maxLength":1200,"pattern":"^[A-Za-z0-9+\\/]+={0,2}$"}} as const

/** The limits of a user (`x-limits` of the contract). */
export const quotas = {"storedBytes":2147483648,"rowBytes":512,"storedRecords":1000000,"versionDays":30,"versionsOfRecord":50,"newestVersionsOfRecord":10,"requestsPerMinute":1200,"devices":1000,"logins":1000,"socketsPerInstance":256,"exportsUnfinished":3,"exportsKept":10,"exportBytes":4294967296,"bodyBytes":1048576,"batchBodyBytes":4194304,"recentSignInSeconds":600,"purgesOfOldSignIn":20,"keyringVersions":20} as const
