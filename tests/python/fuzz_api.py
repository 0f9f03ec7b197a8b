"""Sends generated requests to every operation of the OpenAPI document, with each kind of credential, and checks each response against the document.

Usage: fuzz_api.py BASE_URL MAIL_FOLDER MINUTES [SEED]. MINUTES apply to each kind of credential; SEED makes a run reproducible. Exits with 1
if a response is not as documented, or if less than 90 % of the operations succeeded at least once.
"""

import base64
import contextlib
import email
import email.policy
import hashlib
import random
import re
import sys
import time
import uuid
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import fuzz_factors
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.core.control import SkipTest
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
# The number of consecutive requests to an operation; a kind of credential cycles through all operations until its time is over.
EXAMPLES = 10
NEEDED = 0.9
# Every fourth turn of an operation sends invalid requests: members of the wrong type, missing members, other bodies.
WRONG = 0.25
# Separate, since hypothesis resets the shared one before each request.
CHANCE = random.Random()
KINDS = ["nobody", "dashboard session", "CLI by browser", "CLI by device", "access key", "API key"]
PASSWORD = "a long passphrase nobody guesses"


class Service:
    """The service under test, and the data that requests need: an app with a release, keys, tokens in emails."""

    def __init__(self, base, mailbox):
        self.base, self.mailbox, self.credential, self.password = base, Path(mailbox), None, PASSWORD
        self.address = self.newcomer(is_verified=True)
        self.log_in()
        app = {"name": "fuzzed"}
        self.ask("POST", "/v1/apps", json=app)
        for _ in range(2):
            self.upload()
        deployment = self.ask("GET", "/v1/apps/fuzzed/deployments/Staging")["deployment"]
        self.deployment_key = deployment["key"]

    def log_in(self):
        self.session = self.session_of(self.address)

    def session_of(self, address):
        session = requests.post(self.base + "/v1/auth/login", json={"email": address, "password": PASSWORD}, timeout=30)
        session.raise_for_status()
        return session.json()["accessKey"]

    def ask(self, method, path, **rest):
        """The response to a dashboard session, which is replaced when it has expired or was revoked."""
        for _ in range(2):
            answer = requests.request(method, self.base + path, headers={"Authorization": f"Bearer {self.session}"}, timeout=30, **rest)
            # A session that is not fresh cannot create keys.
            if answer.status_code != 401 and '"reauth_required"' not in answer.text:
                break
            self.log_in()
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def upload(self):
        files = {"package": uuid.uuid4().bytes, "packageInfo": (None, '{"appVersion":"1.0.0"}')}
        self.ask("POST", "/v1/apps/fuzzed/deployments/Staging/releases", files=files)

    def make_way(self):
        """Releases new contents in Staging, without unfinished rollouts in either deployment."""
        for deployment in ["Staging", "Production"]:
            with contextlib.suppress(requests.HTTPError):
                self.ask("PATCH", f"/v1/apps/fuzzed/deployments/{deployment}/release", json={"packageInfo": {"isDisabled": True}})
        self.upload()

    def renew(self, kind):
        """A new credential of this kind, since operations may also revoke and delete the one they are called with."""
        if kind == "nobody":
            self.credential = None
        elif kind == "dashboard session":
            self.log_in()
            self.credential = self.session
        elif kind.startswith("CLI"):
            self.credential = self.let_in(kind.rsplit(" ", 1)[1])["accessKey"]
        elif kind == "access key":
            made = self.ask("POST", "/v1/access-keys", json={"friendlyName": f"key-{uuid.uuid4()}"})
            self.credential = made["accessKey"]["name"]
        else:
            made = self.ask("POST", "/v1/api-keys", json={"name": "fuzz", "scopes": ["read", "deploy", "apps"]})
            self.credential = made["key"]

    def start(self, way):
        """A CLI's request, and the body of its exchange after the approval; the code of the browser flow is still missing."""
        body, path = {}, "/v1/auth/cli/device"
        if way == "browser":
            body, path = new_browser_login(verifier := uuid.uuid4().hex * 2), "/v1/auth/cli/authorizations"
        answer = requests.post(self.base + path, json=body, timeout=30)
        answer.raise_for_status()
        started = answer.json()
        if way == "browser":
            return started, {"grantType": "authorization_code", "codeVerifier": verifier, "redirectUri": body["redirectUri"]}
        return started, {"grantType": "device_code", "deviceCode": started["deviceCode"]}

    def approved(self, way):
        """The body of the exchange of an approved CLI."""
        started, grant = self.start(way)
        approved = self.ask("POST", f"/v1/cli/authorizations/{started['authorizationId']}/approve")
        if way == "browser":
            grant["code"] = parse_qs(urlsplit(approved["redirectUri"]).query)["code"][0]
        return grant

    def let_in(self, way):
        """The response to a completed CLI login."""
        answer = requests.post(self.base + "/v1/auth/cli/token", json=self.approved(way), timeout=30)
        answer.raise_for_status()
        return answer.json()

    def mailed_token(self, address, page):
        """The newest token mailed to this address in a link to this page of the dashboard."""
        for _ in range(200):
            found = sorted(self.mailbox.glob("*.eml"), key=lambda file: file.stat().st_mtime, reverse=True)
            for file in found[:20]:
                mail = email.message_from_bytes(file.read_bytes(), policy=email.policy.default)
                token = re.search(page + r"#token=([A-Za-z0-9_-]+)", mail.get_body(("plain",)).get_content())
                if address in mail["To"] and token:
                    return token.group(1)
            time.sleep(0.05)
        return "none"

    def newcomer(self, is_verified=False):
        address = f"new-{uuid.uuid4()}@example.com"
        requests.post(self.base + "/v1/auth/register", json={"email": address, "password": PASSWORD}, timeout=30)
        if is_verified:
            requests.post(self.base + "/v1/auth/verify-email", json={"token": self.mailed_token(address, "verify-email")}, timeout=30)
        return address


def new_browser_login(verifier):
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    return {"codeChallenge": challenge, "codeChallengeMethod": "S256", "redirectUri": "http://127.0.0.1:49152/callback", "state": "fuzzed"}


def lead(service, kind, case):
    """Fills in existing resources, so that a request can succeed. Returns the credential to use if it differs from the kind's."""
    path = case.operation.path
    if "/mfa" in path or "/auth/passkey" in path:
        credential = fuzz_factors.lead(service, case)
        return credential if kind == "dashboard session" else None
    name_things(service, case)
    asked = f"{case.method} {path}"
    body = case.body if isinstance(case.body, dict) else None
    if path.lower().replace("_", "").endswith("/updatecheck"):
        key, version = ("deploymentKey", "appVersion") if "updateCheck" in path else ("deployment_key", "app_version")
        case.query = {**(case.query or {}), key: service.deployment_key, version: "1.0.0"}
    elif path.endswith("/bundles/{blob}"):
        case.query = {name: values[0] for name, values in parse_qs(bundle(service).query).items()}
    elif "limit" in (case.query or {}) or "cursor" in (case.query or {}) or (case.method == "GET" and path.endswith("/releases")):
        case.query = {}
    elif path.endswith(("/promotions", "/rollbacks")):
        # New contents to promote, and an earlier release to roll back to.
        service.make_way()
    if body is None:
        return None
    if path.startswith(("/v1/apps", "/v1/access-keys", "/v1/api-keys")):
        # A fresh session needs no proof, but a malformed one is refused.
        body.pop("stepUp", None)
    if asked == "DELETE /v1/account" and kind == "dashboard session":
        # A user without apps, whom no other request needs.
        body["password"] = PASSWORD
        return service.session_of(service.newcomer(is_verified=True))
    if "eport" in path:
        names = ("deploymentKey", "appVersion") if "reportStatus" in path else ("deployment_key", "app_version")
        body.update({names[0]: service.deployment_key, names[1]: "1.0.0", "label": "v1"})
    elif asked == "POST /v1/auth/verify-email":
        body["token"] = service.mailed_token(service.newcomer(), "verify-email")
        # Sometimes unchanged: a wrong password is refused.
        if CHANCE.random() < 0.5:
            body["password"] = PASSWORD
    elif asked == "POST /v1/auth/reset-password":
        address = service.newcomer(is_verified=True)
        requests.post(service.base + "/v1/auth/forgot-password", json={"email": address}, timeout=30)
        body.update({"token": service.mailed_token(address, "reset-password"), "password": PASSWORD})
    elif asked == "POST /v1/auth/login":
        body.update({"email": service.address, "password": PASSWORD})
    elif asked == "POST /v1/auth/register":
        body.update({"email": f"new-{uuid.uuid4()}@example.com", "password": PASSWORD})
    elif asked == "POST /v1/auth/cli/authorizations":
        body.update(new_browser_login(uuid.uuid4().hex * 2))
    elif asked == "POST /v1/auth/cli/token":
        body.update(service.approved(CHANCE.choice(["browser", "device"])))
    elif asked == "POST /v1/cli/authorizations/resolve":
        body["userCode"] = service.start("device")[0]["userCode"]
    elif asked == "POST /v1/auth/reauthenticate":
        case.body = {"password": PASSWORD}
    elif path.startswith("/v1/auth/") and "/cli/" not in path:
        body["email"] = f"new-{uuid.uuid4()}@example.com"
    elif asked == "PATCH /v1/account":
        body.pop("password", None)
    elif asked == "POST /v1/apps":
        body["name"] = f"app {uuid.uuid4()}"
    elif asked in ["PATCH /v1/apps/{app}", "PATCH /v1/apps/{app}/deployments/{deployment}"]:
        body["name"] = f"renamed {uuid.uuid4()}"
    elif path.endswith("/collaborators/me/accept"):
        case.body = {}
    elif "/collaborators/" in path:
        body["permission"] = "Viewer"
    elif asked == "POST /v1/apps/{app}/deployments":
        body.update({"name": f"deployment {uuid.uuid4()}", "key": uuid.uuid4().hex})
    elif path.startswith("/v1/access-keys"):
        body.pop("name", None)
        body.update({"friendlyName": f"key-{uuid.uuid4()}", "ttl": 60_000})
    elif path.startswith("/v1/api-keys"):
        body.update({"name": "fuzzed", "scopes": ["read"], "expires_at": None})
    elif path.endswith("/release"):
        # Members that can change in a fully rolled out newest release.
        case.body = {"packageInfo": {"isMandatory": CHANCE.random() < 0.5, "description": f"{uuid.uuid4()}"}}
    elif path.endswith("/promotions"):
        case.body = {"destination": "Production"}
    elif path.endswith("/rollbacks"):
        case.body = {}
    elif asked.endswith("/releases"):
        body.update({"package": uuid.uuid4().bytes, "packageInfo": {"appVersion": "1.0.0"}})
    return None


def name_things(service, case):
    for name in case.path_parameters or {}:
        case.path_parameters[name] = named(service, case.method, case.operation.path, name)


def named(service, method, path, name):
    if name == "email":
        # A new user; most operations require an existing role.
        address = service.newcomer(is_verified=True)
        if method != "POST":
            service.ask("POST", f"/v1/apps/fuzzed/collaborators/{address}")
        return address
    if name == "app" and (method, path) in [("PATCH", "/v1/apps/{app}"), ("DELETE", "/v1/apps/{app}"), ("POST", "/v1/apps/{app}/transfer/{email}")]:
        return service.ask("POST", "/v1/apps", json={"name": f"app {uuid.uuid4()}"})["app"]["name"]
    if name == "deployment" and (path.endswith("/history") and method == "DELETE" or path.endswith("{deployment}") and method != "GET"):
        made = service.ask("POST", "/v1/apps/fuzzed/deployments", json={"name": f"deployment {uuid.uuid4()}"})
        return made["deployment"]["name"]
    if name == "key" and path.startswith("/v1/access-keys"):
        made = service.ask("POST", "/v1/access-keys", json={"friendlyName": f"key-{uuid.uuid4()}"})
        return made["accessKey"]["friendlyName"]
    if name == "key":
        return service.ask("POST", "/v1/api-keys", json={"name": "fuzz", "scopes": ["read", "deploy"]})["id"]
    if name == "authorization":
        return service.start(CHANCE.choice(["browser", "device"]))[0]["authorizationId"]
    if name == "credential":
        return service.let_in(CHANCE.choice(["browser", "device"]))["credentialId"]
    if name == "file":
        return requests.get(service.base + "/v1/docs", timeout=30).text.split("/v1/docs/assets/")[1].split('"')[0]
    if name == "blob":
        return bundle(service).path.rsplit("/", 1)[1]
    return {"app": "fuzzed", "deployment": "Staging", "label": "v1", "source": "127.0.0.1", "passkey": str(uuid.uuid4())}[name]


def bundle(service):
    query = {"deployment_key": service.deployment_key, "app_version": "1.0.0"}
    answer = requests.get(service.base + "/v1/public/svc/update_check", params=query, timeout=30).json()
    return urlsplit(answer["update_info"]["download_url"])


def fuzz(service, kind, operation, done, failures):
    guarded = bool(operation.definition.raw.get("security"))
    questions, is_wrong = operation.as_strategy(), False
    if CHANCE.random() < WRONG:
        try:
            questions, is_wrong = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE), True
        except SkipTest:
            # It has no input that could be invalid.
            pass

    @seed(CHANCE.randrange(1 << 32))
    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate],
              verbosity=Verbosity.quiet)
    @given(case=questions)
    def ask(case):
        # Every second request is sent as generated: most are refused, and the refusals are checked, too.
        credential = None
        if is_wrong:
            # A generated path may belong to another operation.
            name_things(service, case)
        elif CHANCE.random() < 0.5:
            credential = lead(service, kind, case)
        credential = credential or service.credential
        headers = {"Authorization": f"Bearer {credential}"} if guarded and credential else {}
        answer = case.call(headers=headers, timeout=30)
        if 200 <= answer.status_code < 300:
            done.add(operation.label)
        if answer.status_code == 401 and guarded:
            service.renew(kind)
        try:
            case.validate_response(answer, checks=CHECKS)
        except (FailureGroup, Failure) as failure:
            failures.setdefault((operation.label, answer.status_code), f"{failure}\n{case.as_curl_command()}")

    try:
        ask()
    except Unsatisfiable:
        # Some operations have no input that could be invalid.
        if not is_wrong:
            raise


def main():
    base, mailbox, minutes, *given_seed = sys.argv[1:]
    chosen = int(given_seed[0]) if given_seed else random.SystemRandom().randrange(1 << 32)
    CHANCE.seed(chosen)
    print(f"seed {chosen}", flush=True)
    service = Service(base, mailbox)
    schema = schemathesis.openapi.from_url(base + "/v1/openapi.json")
    operations = [result.ok() for result in schema.get_all_operations()]
    done, failures = set(), {}
    for kind in KINDS:
        service.renew(kind)
        end, before, turns = time.monotonic() + float(minutes) * 60, set(done), 0
        while time.monotonic() < end:
            CHANCE.shuffle(operations)
            for operation in operations:
                fuzz(service, kind, operation, done, failures)
            turns += 1
        print(f"{kind}: {turns} turns, {len(done - before)} operations done for the first time, {len(failures)} failures so far", flush=True)
    missing = sorted(operation.label for operation in operations if operation.label not in done)
    print(f"{len(done)} of {len(operations)} operations were done at least once; not these: {', '.join(missing) or 'none'}")
    for (label, status), text in sorted(failures.items()):
        print(f"\n{label}: {status}\n{text}")
    sys.exit(1 if failures or len(done) < NEEDED * len(operations) else 0)


main()
