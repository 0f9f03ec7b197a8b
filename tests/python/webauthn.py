"""A second implementation of WebAuthn (fido2), client and server: a client and authenticator for our server's options, and a server for our
authenticator's responses. Reads one JSON object per line from standard input and prints one per line; exits when standard input is closed.

  {"do": "create" | "get", "origin": O, "options": {...}}   fido2's client creates or asserts a passkey with the soft key below: {"response": {...}}
  {"do": "registered", "origin": O, "options": {...}, "response": {...}}   fido2's server verifies: {"credential": hex, "flags": n, "counter": n}
  {"do": "asserted", "origin": O, "options": {...}, "response": {...}, "credential": hex}   the same for an assertion: {"flags": n, "counter": n}
A refusal is {"refused": text}.
"""

import hashlib
import json
import os
import sys

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor
from fido2.client import DefaultClientDataCollector, Fido2Client, UserInteraction
from fido2.cose import ES256
from fido2.ctap import CtapDevice, CtapError
from fido2.ctap2 import Ctap2
from fido2.server import Fido2Server
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import (
    AttestedCredentialData,
    AuthenticatorData,
    PublicKeyCredentialCreationOptions,
    PublicKeyCredentialRequestOptions,
)

ERR, FLAG = CtapError.ERR, AuthenticatorData.FLAG


class SoftKey(CtapDevice):
    """A CTAP2 authenticator for fido2: resident keys, built-in user verification, a global counter."""

    capabilities = 0x04  # CBOR

    def __init__(self):
        self.passkeys, self.counter = [], 0

    @classmethod
    def list_devices(cls):
        return iter(())

    def call(self, cmd, data=b"", event=None, on_keepalive=None):
        arguments = cbor.decode(data[1:]) if len(data) > 1 else {}
        try:
            answer = {Ctap2.CMD.GET_INFO: self.info, Ctap2.CMD.MAKE_CREDENTIAL: self.make, Ctap2.CMD.GET_ASSERTION: self.get}[data[0]](arguments)
        except CtapError as error:
            return bytes([error.code])
        return b"\0" + cbor.encode(answer)

    def info(self, _arguments):
        return {1: ["FIDO_2_0"], 3: b"\0" * 16, 4: {"rk": True, "up": True, "uv": True}, 5: 7_609, 6: [2], 8: 64}

    def flags(self, options):
        verified = FLAG.UV if options.get("uv") else FLAG(0)
        return verified | (FLAG.UP if options.get("up", True) else FLAG(0))

    def make(self, arguments):
        rp, user, excluded, options = arguments[2]["id"], arguments[3], arguments.get(5, []), arguments.get(7, {})
        if any(passkey["rp"] == rp and passkey["id"] in [other["id"] for other in excluded] for passkey in self.passkeys):
            raise CtapError(ERR.CREDENTIAL_EXCLUDED)
        if ES256.ALGORITHM not in [parameter["alg"] for parameter in arguments[4]]:
            raise CtapError(ERR.UNSUPPORTED_ALGORITHM)
        if not options.get("rk"):
            raise CtapError(ERR.UNSUPPORTED_OPTION)
        key = ec.generate_private_key(ec.SECP256R1())
        passkey = {"id": os.urandom(32), "rp": rp, "user": user, "key": key}
        self.passkeys.append(passkey)
        self.counter += 1
        public = ES256.from_cryptography_key(key.public_key())
        made = AttestedCredentialData.create(b"\0" * 16, passkey["id"], public)
        flags = self.flags(options) | FLAG.AT
        return {1: "none", 2: AuthenticatorData.create(hashlib.sha256(rp.encode()).digest(), flags, self.counter, made), 3: {}}

    def get(self, arguments):
        rp, allowed, options = arguments[1], arguments.get(3), arguments.get(5, {})
        ids = None if allowed is None else [other["id"] for other in allowed]
        found = [passkey for passkey in self.passkeys if passkey["rp"] == rp and (ids is None or passkey["id"] in ids)]
        if not found:
            raise CtapError(ERR.NO_CREDENTIALS)
        self.counter += 1
        data = AuthenticatorData.create(hashlib.sha256(rp.encode()).digest(), self.flags(options), self.counter)
        signature = found[-1]["key"].sign(data + arguments[2], ec.ECDSA(hashes.SHA256()))
        answer = {1: {"id": found[-1]["id"], "type": "public-key"}, 2: data, 3: signature}
        return answer if ids else {**answer, 4: {"id": found[-1]["user"]["id"]}}


KEY = SoftKey()


class Present(UserInteraction):
    def request_uv(self, permissions, rp_id):
        return True


def client(origin):
    def is_for(rp_id, _origin):
        host = origin.split("://")[1].split(":")[0]
        return host == rp_id or host.endswith("." + rp_id)

    return Fido2Client(KEY, DefaultClientDataCollector(origin, is_for), user_interaction=Present())


def create(question):
    options = PublicKeyCredentialCreationOptions.from_dict(question["options"])
    return {"response": dict(client(question["origin"]).make_credential(options))}


def get(question):
    options = PublicKeyCredentialRequestOptions.from_dict(question["options"])
    return {"response": dict(client(question["origin"]).get_assertion(options).get_response(0))}


def server(question, rp_id):
    return Fido2Server({"id": rp_id, "name": "of the tests"}, verify_origin=lambda origin: origin == question["origin"])


def state(options, verification):
    return {"challenge": websafe_encode(options.challenge), "user_verification": verification}


def summary(data):
    return {"flags": int(data.flags), "counter": data.counter}


def registered(question):
    options = PublicKeyCredentialCreationOptions.from_dict(question["options"])
    verification = options.authenticator_selection.user_verification
    data = server(question, options.rp.id).register_complete(state(options, verification), question["response"])
    return {"credential": bytes(data.credential_data).hex(), **summary(data)}


def asserted(question):
    options = PublicKeyCredentialRequestOptions.from_dict(question["options"])
    known = [AttestedCredentialData(bytes.fromhex(question["credential"]))]
    asking = server(question, options.rp_id)
    asking.authenticate_complete(state(options, options.user_verification), known, question["response"])
    return summary(AuthenticatorData(websafe_decode(question["response"]["response"]["authenticatorData"])))


def main():
    for line in sys.stdin:
        question = json.loads(line)
        work = {"create": create, "get": get, "registered": registered, "asserted": asserted}[question["do"]]
        try:
            answer = work(question)
        except Exception as refusal:
            answer = {"refused": repr(refusal)}
        print(json.dumps(answer, default=dict), flush=True)


main()
