"""Second factors for generated requests: users with an authenticator app and a passkey, implemented with the standard library alone."""

import base64
import hashlib
import hmac
import json
import os
import struct
import time

import requests

ORIGIN_OF = "http://localhost:{port}"
# The base point of P-256 and its order: the public key of the private key 1, with which signing is an addition (FIPS 186-5, section 6.4.1, also
# with 1 as the per-message secret).
X = 0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296
Y = 0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
PRESENT_AND_VERIFIED, ATTESTED = 0x05, 0x40


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def code(secret, steps=0):
    """The authenticator app's code (RFC 6238), this many steps from now."""
    step = struct.pack(">Q", int(time.time()) // 30 + steps)
    digest = hmac.digest(base64.b32decode(secret), step, "sha1")
    place = digest[19] & 15
    return f"{(int.from_bytes(digest[place : place + 4], 'big') & 0x7FFFFFFF) % 1_000_000:06}"


class Holder:
    """A user with an account, a dashboard session and, once enrolled, second factors."""

    def __init__(self, service):
        self.service, self.credential_id, self.counter = service, os.urandom(16), 0
        self.origin = ORIGIN_OF.format(port=service.base.rsplit(":", 1)[1])
        self.address = service.newcomer(is_verified=True)
        self.session = self.log_in()["accessKey"]
        self.codes = []

    def post(self, path, body, session=None):
        headers = {"Authorization": f"Bearer {session}"} if session else {}
        answer = requests.post(self.service.base + path, json=body, headers=headers, timeout=30)
        answer.raise_for_status()
        return answer.json()

    def log_in(self):
        return self.post("/v1/auth/login", {"email": self.address, "password": self.service.password})

    def enrol_passkey(self):
        made = self.post("/v1/mfa/passkeys/register/verify", {"response": self.registration()}, self.session)
        self.codes = made["recoveryCodes"]
        self.passkey = made["passkey"]["id"]
        return self

    def enrol_totp(self):
        secret = self.set_up()
        self.post("/v1/mfa/totp/confirm", {"code": code(secret), "stepUp": self.proof()}, self.session)
        # The code of this step was used, that of the next one is already valid.
        self.next_code = code(secret, 1)
        return self

    def set_up(self):
        return self.post("/v1/mfa/totp/setup", {}, self.session)["secret"]

    def data(self, flags, rp_id):
        self.counter += 1
        return hashlib.sha256(rp_id.encode()).digest() + bytes([flags]) + struct.pack(">I", self.counter)

    def registration(self):
        options = self.post("/v1/mfa/passkeys/register/options", {}, self.session)["options"]
        key = bytes.fromhex("a5010203262001215820") + X.to_bytes(32, "big") + bytes.fromhex("225820") + Y.to_bytes(32, "big")
        made = bytes(16) + struct.pack(">H", len(self.credential_id)) + self.credential_id + key
        data = self.data(PRESENT_AND_VERIFIED | ATTESTED, options["rp"]["id"]) + made
        attestation = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58" + bytes([len(data)]) + data
        client_data = self.client_data("webauthn.create", options)
        return self.response({"clientDataJSON": base64url(client_data), "attestationObject": base64url(attestation), "transports": ["usb"]})

    def assertion(self, options):
        data, client_data = self.data(PRESENT_AND_VERIFIED, options["rpId"]), self.client_data("webauthn.get", options)
        number = int.from_bytes(hashlib.sha256(data + hashlib.sha256(client_data).digest()).digest(), "big")
        parts = b"".join(der(part) for part in (X % ORDER, (number + X) % ORDER))
        signature = b"\x30" + bytes([len(parts)]) + parts
        known = {"authenticatorData": base64url(data), "signature": base64url(signature), "userHandle": self.user}
        return self.response({"clientDataJSON": base64url(client_data), **known})

    def client_data(self, ceremony, options):
        self.user = options.get("user", {}).get("id") or self.user
        return json.dumps({"type": ceremony, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": False}).encode()

    def response(self, response):
        own = base64url(self.credential_id)
        return {"id": own, "rawId": own, "type": "public-key", "response": response, "clientExtensionResults": {}}

    def proof(self):
        options = self.post("/v1/mfa/step-up/options", {}, self.session)["options"]
        return {"type": "passkey", "response": self.assertion(options)}


def der(number):
    """A non-negative integer in ASN.1."""
    data = number.to_bytes(number.bit_length() // 8 + 1, "big")
    return b"\x02" + bytes([len(data)]) + data


def lead(service, case):
    """Fills in existing second factors, so that a request can succeed. Returns the credential to use."""
    asked = f"{case.method} {case.operation.path}"
    body = case.body if isinstance(case.body, dict) else {}
    holder = Holder(service)
    if asked in ("POST /v1/mfa/totp/setup", "POST /v1/mfa/passkeys/register/options"):
        return holder.session
    if asked == "POST /v1/mfa/totp/confirm":
        body["code"] = code(holder.set_up())
    elif asked == "POST /v1/mfa/passkeys/register/verify":
        body["response"] = holder.registration()
        body.pop("name", None)
    elif asked == "POST /v1/auth/passkey/verify":
        holder.enrol_passkey()
        challenge = holder.post("/v1/auth/passkey/options", {})
        body.update({"challengeId": challenge["challengeId"], "response": holder.assertion(challenge["options"])})
    elif asked.startswith("POST /v1/auth/mfa/"):
        lead_login(holder.enrol_passkey(), asked, body)
    else:
        holder.enrol_passkey()
        if case.path_parameters:
            case.path_parameters["passkey"] = holder.passkey
        if asked == "DELETE /v1/mfa/totp":
            holder.enrol_totp()
        if case.method == "PATCH":
            body["name"] = "renamed"
        elif not asked.endswith("/options"):
            body["stepUp"] = holder.proof()
    if case.method != "GET" and body:
        case.body = body
        # A request generated without a body has no content type.
        case.media_type = "application/json"
    return holder.session


def lead_login(holder, asked, body):
    if asked.endswith("/totp"):
        holder.enrol_totp()
    body["pendingToken"] = holder.log_in()["pendingToken"]
    if asked.endswith("/totp"):
        body["code"] = holder.next_code
    elif asked.endswith("/recovery"):
        body["code"] = holder.codes[0]
    elif asked.endswith("/verify"):
        options = holder.post("/v1/auth/mfa/options", {"pendingToken": body["pendingToken"]})["options"]
        body["response"] = holder.assertion(options)
