"""Check whether a server answers over HTTPS."""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.request
from typing import Any

_SECONDS = 5
_SERVER_ERROR = 500


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer; where it leads to is another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


def find_silence(url: str, authority: str = "") -> str:
    """Return why a server does not answer within 5 s; empty if it does, with any status below 500.

    ``authority`` is its certificate authority in PEM; empty for the trusted ones. The environment's proxies are used.
    """
    try:
        context = ssl.create_default_context(cadata=authority or None)
        # Python 3.13 sets it; EKS's authorities have no key identifier.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        opener = urllib.request.build_opener(_NoRedirect, urllib.request.HTTPSHandler(context=context))
        opener.open(url, timeout=_SECONDS).close()
    except urllib.error.HTTPError as error:
        return f"HTTP {error.code}" if error.code >= _SERVER_ERROR else ""
    except (OSError, http.client.HTTPException) as error:
        return str(getattr(error, "reason", error)) or type(error).__name__
    return ""
