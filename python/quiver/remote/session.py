"""Headers of calls: the cookie that names the session, and the details of errors."""

from __future__ import annotations

import pyarrow.flight as flight

from . import failures


class Cookies(flight.ClientMiddlewareFactory):
    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, str] = {}

    def start_call(self, info: flight.CallInfo) -> flight.ClientMiddleware:
        return _Exchange(self.known)


class _Exchange(flight.ClientMiddleware):
    def __init__(self, known: dict[str, str]):
        super().__init__()
        self._known = known
        self._details: bytes | str | None = None

    def sending_headers(self) -> dict[str, str]:
        if not self._known:
            return {}
        return {"cookie": "; ".join(f"{name}={value}" for name, value in self._known.items())}

    def received_headers(self, headers: dict[str, list[str]]) -> None:
        for name, values in headers.items():
            for value in values:
                if name.lower() == "set-cookie":
                    self._note(value)
                elif name.lower() == failures.DETAILS:
                    self._details = value

    def call_completed(self, exception: BaseException | None) -> None:
        if exception is not None and self._details is not None:
            failures.record_details(self._details, exception)

    def _note(self, cookie: str) -> None:
        pair, *attributes = cookie.split(";")
        name, _, value = pair.strip().partition("=")
        if any(attribute.strip().lower() == "max-age=0" for attribute in attributes):
            self._known.pop(name, None)
        else:
            self._known[name] = value
