"""Whether a Dask cluster has a dashboard: without one, its scheduler still serves other pages at
that address, perhaps one that says what is missing for a dashboard.
"""

from __future__ import annotations

import logging
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urljoin
from urllib.request import ProxyHandler, build_opener

#: A page that only dashboards have, beside the one that links lead to.
PAGE = "individual-progress"
#: Seconds to wait for the page.
PATIENCE = 5.0

_log = logging.getLogger(__name__)


def is_dashboard(link: str) -> bool:
    """Whether there is a dashboard at a link; if the address cannot be reached from here, there may
    be one.
    """
    try:
        with build_opener(ProxyHandler({})).open(urljoin(link, PAGE), timeout=PATIENCE):
            return True
    except HTTPError as error:
        error.close()
        return error.code != 404
    except (OSError, ValueError, HTTPException) as error:
        _log.info("%s: no answer to whether this is a dashboard: %r", link, error)
        return True
