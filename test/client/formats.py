"""A client in Python, written from docs/formats.md, docs/encryption.md and the contract alone.

python formats.py vectors           checks the vectors that the service has
python formats.py make PASSPHRASE   makes a vault and some records of each type, and prints the recovery code
python formats.py read CREDENTIAL   prints all live records by list and id, as they come from a pull, and the bookmarks of an export
python formats.py open FILE CREDENTIAL   prints all records of a saved backup by list and id, without a service

BASE_URL is the service's origin, SESSION the value of the session cookie.
"""

import base64
import hashlib
import hmac
import json
import os
import re
import sys
import time
import unicodedata
import urllib.request
import uuid
from decimal import Decimal

import argon2.low_level as argon2
from nacl import bindings as sodium

BASE_URL = os.environ.get("BASE_URL")


def to_base64(data):
    return base64.b64encode(data).decode()


def seal(key, nonce, associated, plaintext):
    return sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(plaintext, associated, nonce, key)


def unseal(key, nonce, associated, sealed):
    return sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(sealed, associated, nonce, key)


def hkdf(secret, info):
    extracted = hmac.digest(bytes(32), secret, "sha256")
    return hmac.digest(extracted, info.encode() + b"\x01", "sha256")


# Derived ids


def utf8(text):
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def derived_id(masters, place, kind, ordinal, name):
    name = unicodedata.normalize("NFC", name) if kind == "folder" else name
    fields = [utf8(field) for field in (place, kind, str(ordinal), name)]
    text = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
    id = bytearray(hmac.digest(hkdf(masters[-1], "ebs/id/1"), text, "sha256")[:16])
    id[6], id[8] = id[6] & 0x0F | 0x80, id[8] & 0x3F | 0x80
    return str(uuid.UUID(bytes=bytes(id)))


# JSON in a record


def canonical(value):
    if isinstance(value, dict):
        fields = sorted(((name, item) for name, item in value.items()), key=lambda field: order(field[0]))
        return "{" + ",".join(f"{quoted(name)}:{canonical(item)}" for name, item in fields) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return number(float(value))


def order(name):
    if re.fullmatch("0|[1-9][0-9]{0,9}", name) and int(name) <= 4294967294:
        return (0, int(name), b"")
    return (1, 0, name.encode("utf-16-be", "surrogatepass"))


def quoted(text):
    # json.dumps writes short escapes and lower-case hex like JSON.stringify. Of its other escapes, only lone surrogates stay.
    escaped = json.dumps(text)
    pair = r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})"
    code = r"(?<!\\)((?:\\\\)*)"
    escaped = re.sub(code + pair, lambda m: m[1] + bytes.fromhex(m[2] + m[3]).decode("utf-16-be"), escaped)
    plain = r"\\u((?!d[89a-f]|00[01])[0-9a-f]{4})"
    return re.sub(code + plain, lambda m: m[1] + chr(int(m[2], 16)), escaped)


def number(value):
    if value == 0:
        return "0"
    _, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    sign, text = "-" if value < 0 else "", "".join(map(str, digits))
    point = len(text) + exponent
    if 0 < point <= 21:
        whole = text.ljust(point, "0")
        return sign + whole[:point] + ("." + whole[point:] if whole[point:] else "")
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{text}"
    mantissa = text[0] + ("." + text[1:] if text[1:] else "")
    return f"{sign}{mantissa}e{'+' if point > 0 else '-'}{abs(point - 1)}"


# Records


class Keys:
    def __init__(self, masters):
        """`masters` are all master keys, the newest first."""
        self.by_prefix = {}
        for index, master in enumerate(masters):
            is_first = index == len(masters) - 1
            prefix = b"\x01" if is_first else b"\x02" + hkdf(master, "ebs/key-id/1")[:8]
            self.by_prefix[prefix] = {name: hkdf(master, f"ebs/{name}/1") for name in ("record", "hash", "export", "keyring")}
        self.prefix, self.newest = next(iter(self.by_prefix.items()))
        self.masters = masters

    def history_id(self, url):
        return derived_id(self.masters, "history", "link", 0, url)

    def export_keys(self):
        return [keys["export"] for keys in self.by_prefix.values()]


def seal_record(keys, bookmark, entity_type="bookmark", nonce=None):
    text = canonical(bookmark).encode()
    text += b" " * (-len(text) % 256)
    plaintext = hmac.digest(keys.newest["hash"], text, "sha256") + text
    nonce = nonce or os.urandom(24)
    sealed = seal(keys.newest["record"], nonce, f"ebs/1\0{entity_type}\0{bookmark['id']}".encode(), plaintext)
    return {
        "encrypted_data": to_base64(keys.prefix + nonce + sealed),
        "data_hash": hashlib.sha256(plaintext).hexdigest(),
    }


def open_record(keys, id, record, entity_type="bookmark"):
    data = base64.b64decode(record["encrypted_data"])
    prefix = data[: 1 if data[0] == 1 else 9]
    nonce, sealed = data[len(prefix) : len(prefix) + 24], data[len(prefix) + 24 :]
    plaintext = unseal(keys.by_prefix[prefix]["record"], nonce, f"ebs/1\0{entity_type}\0{id}".encode(), sealed)
    assert hashlib.sha256(plaintext).hexdigest() == record["data_hash"]
    bookmark = json.loads(plaintext[32:])
    assert bookmark["id"] == id
    return bookmark


# Merging the visits of a history entry


def since(removed_at, version):
    if version.get("dateModified") == removed_at:
        return version
    visits = [visit for visit in version.get("visits", []) if visit > removed_at]
    dates = {"dateAdded": visits[-1], "dateVisited": visits[0]} if visits else {}
    return {"visits": visits, "visitCount": len(visits), **dates}


def merge_history(base, one, other):
    first, last = sorted(each.get("dateModified", "") for each in (one, other))
    removed_at = first if base and last == base.get("dateModified", "") else last
    if not removed_at:
        return other | merge_visits(base, one, other)
    visited = merge_visits(*(each and since(removed_at, each) for each in (base, one, other)))
    merged = {name: value for name, value in other.items() if name not in VISITED + ["url", "title"]}
    page = next((each for each in (other, one) if "url" in each), {}) if visited["visits"] else {}
    named = {"title": page.get("title", ""), "dateModified": removed_at} | ({"url": page["url"]} if page else {})
    return merged | named | (visited if page else {})


VISITED = ["dateAdded", "dateVisited", "visits", "visitCount"]


def merge_visits(base, one, other):
    base = base or {}
    before, visits, others = (set(each.get("visits", [])) for each in (base, one, other))
    every = sorted(visits | others, reverse=True)
    counts = [each.get("visitCount", 0) for each in (one, other)]
    since = sum(counts) - base["visitCount"] - len(visits & others - before) if "visitCount" in base else 0
    return {
        "dateAdded": min((each["dateAdded"] for each in (one, other) if "dateAdded" in each), default=None),
        "dateVisited": max((each["dateVisited"] for each in (one, other) if "dateVisited" in each), default=None),
        "visits": every[:20],
        "visitCount": max(*counts, len(every), since),
    }


# The recovery code and the keyring

DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
CHECKS = DIGITS + "*~$=U"


def write_code(code):
    value = int.from_bytes(code)
    text = "".join(DIGITS[value >> 5 * place & 31] for place in range(25, -1, -1)) + CHECKS[value % 37]
    return "-".join(text[start : start + 3] for start in range(0, 27, 3))


def read_code(typed):
    text = unicodedata.normalize("NFKC", typed).upper()
    text = "".join(c for c in text if unicodedata.category(c) not in ("Pd", "Cf") and not c.isspace() and c not in ".,_")
    text = text.replace("O", "0").replace("I", "1").replace("L", "1")
    if len(text) != 27 or any(digit not in DIGITS for digit in text[:26]):
        return None
    value = sum(DIGITS.index(digit) << 5 * (25 - place) for place, digit in enumerate(text[:26]))
    return value.to_bytes(16) if value < 1 << 128 and CHECKS[value % 37] == text[26] else None


def passphrase_key(passphrase, wrap):
    return argon2.hash_secret_raw(
        secret=unicodedata.normalize("NFKC", passphrase).encode(),
        salt=base64.b64decode(wrap["salt"]),
        time_cost=wrap["iterations"],
        memory_cost=wrap["memory_kib"],
        parallelism=wrap["parallelism"],
        hash_len=32,
        type=argon2.Type.ID,
    )


def binding(*parts):
    return "\0".join(map(str, parts)).encode()


def passphrase_binding(format, user, wrap):
    names = ("kdf", "memory_kib", "iterations", "parallelism", "salt")
    return binding(format, user, *(wrap[name] for name in names))


def make_keyring(user, passphrase):
    master, code = os.urandom(32), os.urandom(16)
    wrap = {"kdf": "argon2id", "memory_kib": 65536, "iterations": 3, "parallelism": 1, "salt": to_base64(os.urandom(16))}
    format = "ebs/keyring/1"

    def wrapped(key, associated):
        nonce = os.urandom(24)
        return {"nonce": to_base64(nonce), "wrapped_key": to_base64(seal(key, nonce, associated, master))}

    recovery = wrapped(hkdf(code, "ebs/recovery/1"), binding(format, user, "hkdf-sha256"))
    keyring = {
        "format": format,
        "passphrase": wrap | wrapped(passphrase_key(passphrase, wrap), passphrase_binding(format, user, wrap)),
        "recovery": {"kdf": "hkdf-sha256"} | recovery,
    }
    keyring["mac"] = keyring_mac(keyring, user, master)
    return json.dumps(keyring), write_code(code), Keys([master])


def keyring_mac(keyring, user, master):
    """The MAC of a keyring. `master` is the newest master key."""
    wrap, recovery, older = keyring["passphrase"], keyring["recovery"], keyring.get("older")
    parts = [keyring["format"], user] + ([keyring["key_id"]] if older else [])
    parts += [wrap[name] for name in ("kdf", "memory_kib", "iterations", "parallelism", "salt", "nonce", "wrapped_key")]
    parts += [recovery[name] for name in ("kdf", "nonce", "wrapped_key")]
    parts += [older[name] for name in ("kdf", "nonce", "wrapped_keys")] if older else []
    return to_base64(hmac.digest(hkdf(master, "ebs/keyring/1"), binding(*parts), "sha256"))


def open_keyring(text, user, credential):
    """All master keys, the newest first. `credential` is the passphrase or the recovery code."""
    keyring = json.loads(text)
    format, code = keyring["format"], read_code(credential)
    if code:
        wrap, key = keyring["recovery"], hkdf(code, "ebs/recovery/1")
        associated = binding(format, user, "hkdf-sha256")
    else:
        wrap = keyring["passphrase"]
        key, associated = passphrase_key(credential, wrap), passphrase_binding(format, user, wrap)
    master = unwrap(key, associated, wrap, "wrapped_key")
    assert keyring.get("mac", keyring_mac(keyring, user, master)) == keyring_mac(keyring, user, master)
    if format == "ebs/keyring/1":
        return [master]
    assert base64.b64decode(keyring["key_id"]) == hkdf(master, "ebs/key-id/1")[:8]
    older = unwrap(hkdf(master, "ebs/older/1"), binding(format, user, "older"), keyring["older"], "wrapped_keys")
    return [master] + [older[start : start + 32] for start in range(0, len(older), 32)]


def unwrap(key, associated, wrap, name):
    return unseal(key, base64.b64decode(wrap["nonce"]), associated, base64.b64decode(wrap[name]))


# The export file


def export_key_id(export_key):
    return hashlib.sha256(b"ebs/key-id" + export_key).digest()[:8]


def open_export(export_key, data):
    header, rest = data[:32], data[32:]
    assert header[:5] == b"EBSX\x01"
    assert header[5:13] == export_key_id(export_key)
    size = 65536 + 16
    chunks = [rest[start : start + size] for start in range(0, len(rest), size)]
    plaintext = b""
    for index, chunk in enumerate(chunks):
        is_last = index == len(chunks) - 1
        nonce = header[13:] + index.to_bytes(4) + (b"\x01" if is_last else b"\x00")
        plaintext += unseal(export_key, nonce, header, chunk)
    return json.loads(plaintext)


# A saved backup


def open_backup(data, credential):
    """All records of a saved backup, by list and id."""
    assert data[:5] == b"EBSB\x01"
    user_end = 8 + data[5]
    head_end = user_end + int.from_bytes(data[6:8])
    export = head_end + 32
    assert data[head_end:export] == hashlib.sha256(data[:head_end]).digest()
    user, keyring = data[8:user_end].decode(), data[user_end:head_end].decode()
    keys = Keys(open_keyring(keyring, user, credential))
    named = data[export + 5 : export + 13]
    export_key = next(key for key in keys.export_keys() if export_key_id(key) == named)
    return opened(keys, open_export(export_key, data[export:]))


LISTS = {"bookmarks": "bookmark", "groups": "group", "history": "history"}


def opened(keys, content):
    assert content["bookmark_count"] == len(content["bookmarks"])
    return {
        list: {record["id"]: open_record(keys, record["id"], record, type) for record in content[list]}
        for list, type in LISTS.items()
        if list in content
    }


# The service


def call(method, path, body=None):
    headers = {"X-Device-ID": "python", "Content-Type": "application/json"}
    headers["Cookie"] = f"service_session={os.environ['SESSION']}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(BASE_URL + path, data=data, headers=headers, method=method)
    with urllib.request.urlopen(request) as response:
        content = response.read()
    return json.loads(content) if response.headers["Content-Type"].startswith("application/json") else content


def user_id():
    return call("GET", "/api/v1/auth/session")["user"]["user_id"]


def make(passphrase):
    keyring, code, keys = make_keyring(user_id(), passphrase)
    call("PUT", "/api/v1/account/keyring", {"keyring": keyring, "revision": 1})
    call("PUT", "/api/v1/account/export-key", {"key": to_base64(keys.newest["export"])})
    bookmarks = [
        {"id": "folder", "title": "Émile / 本", "source": "bookmarks", "position": "a0"},
        {"id": "first", "title": "1", "url": "https://example.org/", "source": "bookmarks", "parentId": "folder", "position": "a0"},
        {"id": "third", "title": "3", "url": "https://example.net/", "source": "bookmarks", "parentId": "folder", "position": "a1"},
        # Its position is between the two others.
        {"id": "line", "title": "", "type": "separator", "source": "bookmarks", "parentId": "folder", "position": "a0V"},
    ]
    groups = [
        {"id": "folder", "title": "Work", "source": "groups", "color": "blue", "position": "a0"},
        {"id": "tab", "title": "1", "url": "https://example.org/", "source": "groups", "parentId": "folder", "position": "a0"},
    ]
    url, visit = "https://example.org/", "2026-11-21T08:10:00.000Z"
    visited = {"dateAdded": visit, "dateVisited": visit, "visits": [visit], "visitCount": 1}
    entry = {"id": keys.history_id(url), "title": "Example", "source": "history", "url": url, **visited}
    changes = [change(keys, bookmark) for bookmark in bookmarks]
    changes += [change(keys, group, "group") for group in groups] + [change(keys, entry, "history")]
    answer = call("POST", "/api/v1/sync/push", {"changes": changes})
    assert answer["accepted"] == len(changes), answer
    print(code)


def change(keys, bookmark, entity_type="bookmark"):
    now = int(time.time() * 1000)
    return {
        "id": f"{now}-{entity_type}-{bookmark['id']}",
        "entity_type": entity_type,
        "entity_id": bookmark["id"],
        "operation": "create",
        "timestamp": now,
        "device_id": "python",
        **seal_record(keys, bookmark, entity_type),
    }


def read(credential):
    keyring = call("GET", "/api/v1/account/keyring")["keyring"]
    keys = Keys(open_keyring(keyring, user_id(), credential))
    pulled, since = {list: {} for list in LISTS}, 0
    list_of = {type: list for list, type in LISTS.items()}
    while True:
        page = call("POST", "/api/v1/sync/pull", {"since": since, "limit": 2})
        for event in page["changes"]:
            id, type = event["entity_id"], event["entity_type"]
            records = pulled[list_of[type]]
            records.pop(id, None)
            if event["operation"] != "delete":
                records[id] = open_record(keys, id, event, type)
        since = page["last_sync_timestamp"]
        if not page["has_more"]:
            break
    print(json.dumps({"pulled": pulled, "exported": exported(keys)}))


def exported(keys):
    export = call("POST", "/api/v1/exports")
    while export["status"] != "completed":
        time.sleep(0.1)
        export = next(each for each in call("GET", "/api/v1/exports")["exports"] if each["id"] == export["id"])
    return opened(keys, open_export(keys.newest["export"], call("GET", f"/api/v1/exports/{export['id']}")))


# The vectors


def vectors(name):
    with urllib.request.urlopen(f"{BASE_URL}/docs/vectors/{name}.json") as response:
        return json.loads(response.read())


def check_vectors():
    of_records = vectors("record")
    keys = Keys([bytes.fromhex(of_records["master_key"])])
    for case in of_records["cases"]:
        bookmark, type = case["bookmark"], case["entity_type"]
        assert canonical(bookmark) == case["json"], case["label"]
        sealed = {name: case[name] for name in ("encrypted_data", "data_hash")}
        assert seal_record(keys, bookmark, type, bytes.fromhex(case["nonce"])) == sealed, case["label"]
        assert open_record(keys, bookmark["id"], case, type) == bookmark, case["label"]
    named = of_records["device_name"]
    data = base64.b64decode(named["encrypted_name"])
    binding = f"ebs/1\0device\0{named['device_id']}".encode()
    assert unseal(keys.newest["record"], data[1:25], binding, data[25:])[32:].decode().rstrip() == named["json"]
    for case in vectors("keys")["cases"]:
        master = bytes.fromhex(case["master_key"])
        assert all(hkdf(master, f"ebs/{name}/1").hex() == case[f"{name}_key"] for name in ("record", "hash", "export", "keyring", "id"))
    imported = vectors("keys")["imported"]
    for case in imported["cases"]:
        masters = [bytes.fromhex(imported["master_key"])[:32], bytes.fromhex(imported["master_key"])[32:]]
        assert derived_id(masters, *(case[name] for name in ("place", "kind", "ordinal", "name"))) == case["id"], case["label"]
    keyring = vectors("keyring")
    for credential in (keyring["passphrase"], keyring["passphrase_nfd"], keyring["recovery_code"]):
        assert open_keyring(keyring["keyring"], keyring["user_id"], credential)[0].hex() == keyring["master_key"]
    for case in (keyring, vectors("rotated")):
        newest = bytes.fromhex(case["master_key"])[:32]
        assert keyring_mac(json.loads(case["keyring"]), case["user_id"], newest) == case["mac"]
    for case in keyring["recovery_codes"]:
        assert write_code(bytes.fromhex(case["code"])) == case["written"]
        typed = case["written"].lower().replace("-", " – ").replace("1", "l").replace("0", "o")
        assert read_code(typed).hex() == case["code"], typed
    rotated = vectors("rotated")
    for credential in (rotated["passphrase"], rotated["recovery_code"]):
        masters = open_keyring(rotated["keyring"], rotated["user_id"], credential)
        assert b"".join(masters).hex() == rotated["master_key"]
    for case in rotated["cases"]:
        bookmark = rotated["bookmark"]
        assert open_record(Keys(masters), bookmark["id"], case) == bookmark, case["label"]
    exports = vectors("export-file")
    content = open_export(bytes.fromhex(exports["export_key"]), base64.b64decode(exports["file"]))
    assert content == json.loads(exports["json"])
    keys = Keys([bytes.fromhex(exports["master_key"])])
    assert list(opened(keys, content)["bookmarks"].values()) == exports["opened"]["bookmarks"]
    saved = vectors("saved-backup")
    for credential in (saved["passphrase"], saved["recovery_code"]):
        for case in (saved, saved["all_types"]):
            backup = open_backup(base64.b64decode(case["file"]), credential)
            assert all(list(records.values()) == case["opened"][name] for name, records in backup.items())
            assert backup.keys() == case["opened"].keys() & LISTS.keys()
    for case in vectors("visits")["cases"]:
        base, one, other, merged = (case[name] for name in ("base", "earlier", "later", "merged"))
        assert merge_history(base, one, other) == merged, case["label"]
    print("every vector holds")


def open_file(path, credential):
    with open(path, "rb") as file:
        print(json.dumps(open_backup(file.read(), credential)))


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    {"vectors": check_vectors, "make": make, "read": read, "open": open_file}[command](*arguments)
