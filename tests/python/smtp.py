"""A mail server (aiosmtpd) that can fail at any stage on demand. Reads commands, one JSON object per line, from standard input, and prints events,
one JSON object per line, to standard output. Exits when standard input is closed.

Its first line gives the options: {"tls": "off" | "starttls" | "implicit", "certificate": path, "key": path, "user": name, "password": word}.
Each later line replaces the faults: {"faults": [{"stage": S, "do": D, "answer": text, "to": part of the recipient's address}]}
  stages: connection, EHLO, STARTTLS, AUTH, MAIL, RCPT, DATA, content
  refuse  sends the answer instead of its own; at `content`, after the whole mail
  drop    closes the connection; at `content`, in the middle of the email
  stall   sends nothing until the faults are replaced, then closes the connection
  lose    accepts the email and closes the connection without an answer; at `content` only
"""

import asyncio
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

faults = []
replaced = asyncio.Event()


def tell(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


def fault_at(stage, to=""):
    for fault in faults:
        if fault["stage"] == stage and fault.get("to", "") in to:
            return fault
    return None


class Handler:
    async def handle_DATA(self, server, session, envelope):
        fault = fault_at("content", ",".join(envelope.rcpt_tos))
        if fault and fault["do"] == "refuse":
            tell("fault", stage="content", do="refuse")
            return fault["answer"]
        tell(
            "mail",
            to=envelope.rcpt_tos,
            is_encrypted=server.transport.get_extra_info("sslcontext") is not None,
            user=session.auth_data,
            source=envelope.original_content.decode(),
        )
        if fault and fault["do"] == "lose":
            tell("fault", stage="content", do="lose")
            server.transport.abort()
            await asyncio.Event().wait()
        return "250 OK"


class Server(SMTP):
    async def _handle_client(self):
        if not await self.fails("connection"):
            await super()._handle_client()

    async def fails(self, stage, to=""):
        """Applies the fault of this stage; false if there is none."""
        fault = fault_at(stage, to)
        if fault is None:
            return False
        tell("fault", stage=stage, do=fault["do"])
        if fault["do"] == "refuse":
            await self.push(fault["answer"])
            if stage == "connection":
                self.transport.close()
            return True
        if fault["do"] == "stall":
            await replaced.wait()
        self.transport.abort()
        # This coroutine is canceled when the connection is closed.
        await asyncio.Event().wait()

    async def smtp_EHLO(self, hostname):
        if not await self.fails("EHLO"):
            await super().smtp_EHLO(hostname)

    async def smtp_STARTTLS(self, arg):
        if not await self.fails("STARTTLS"):
            await super().smtp_STARTTLS(arg)

    async def smtp_AUTH(self, arg):
        if not await self.fails("AUTH"):
            await super().smtp_AUTH(arg)

    async def smtp_MAIL(self, arg):
        if not await self.fails("MAIL"):
            await super().smtp_MAIL(arg)

    async def smtp_RCPT(self, arg):
        if not await self.fails("RCPT", arg):
            await super().smtp_RCPT(arg)

    async def smtp_DATA(self, arg):
        to = ",".join(self.envelope.rcpt_tos)
        if await self.fails("DATA", to):
            return
        fault = fault_at("content", to)
        if fault and fault["do"] in ("drop", "stall"):
            await self.push("354 Go on")
            await self._reader.readuntil(b"\r\n")
            await self.fails("content", to)
        await super().smtp_DATA(arg)


def authenticator(user, password):
    def check(_server, _session, _envelope, _mechanism, given):
        known = isinstance(given, LoginPassword) and given.login == user.encode() and given.password == password.encode()
        return AuthResult(success=known, auth_data=user if known else None)

    return check


async def main():
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    options = json.loads(await lines.readline())
    context = None
    if options["tls"] != "off":
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(options["certificate"], options["key"])
    needs_login = options.get("user") is not None

    def make():
        return Server(
            Handler(),
            hostname="mail.example.com",
            ident="test",
            enable_SMTPUTF8=True,
            tls_context=context if options["tls"] == "starttls" else None,
            require_starttls=options["tls"] == "starttls",
            auth_required=needs_login,
            auth_require_tls=options["tls"] == "starttls",
            authenticator=authenticator(options["user"], options["password"]) if needs_login else None,
        )

    server = await loop.create_server(make, "127.0.0.1", 0, ssl=context if options["tls"] == "implicit" else None)
    tell("listening", port=server.sockets[0].getsockname()[1])
    while line := await lines.readline():
        faults[:] = json.loads(line)["faults"]
        replaced.set()
        replaced.clear()
        tell("replaced", faults=len(faults))


asyncio.run(main())
