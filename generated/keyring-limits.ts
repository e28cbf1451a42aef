// Written by `npm run generate`. Do not edit.
export const Keyring = {"keyring":{"minLength":1,"maxLength":16384,"pattern":"^[ -~]+$"},"revision":{"minimum":1,"maximum":9007199254740991}} as const
export const KeyringContent = {"key_id":{"pattern":"^[A-Za-z0-9+\\/]{10}[AEIMQUYcgkosw048]=$"},"mac":{"pattern":"^[A-Za-z0-9+\\/]{42}[AEIMQUYcgkosw048]=$"}} as const
export const PassphraseWrap = {"memory_kib":{"minimum":65536,"maximum":262144},"iterations":{"minimum":3,"maximum":10},"parallelism":{"minimum":1,"maximum":4},"salt":{"pattern":"^[A-Za-z0-9+\\/]{21}[AQgw]==$"},"nonce":{"pattern":"^[A-Za-z0-9+\\/]{32}$"},"wrapped_key":{"pattern":"^[A-Za-z0-9+\\/]{64}$"}} as const
export const RecoveryWrap = {"nonce":{"pattern":"^[A-Za-z0-9+\\/]{32}$"},"wrapped_key":{"pattern":"^[A-Za-z0-9+\\/]{64}$"}} as const
export const OlderWrap = {"nonce":{"pattern":"^[A-Za-z0-9+\\/]{32}$"},"wrapped_keys":{"pattern":"^([A-Za-z0-9+\\/]{128})*([A-Za-z0-9+\\/]{64}|[A-Za-z0-9+\\/]{106}[AEIMQUYcgkosw048]=|[A-Za-z0-9+\\/]{149}[AQgw]==)$"}} as const
