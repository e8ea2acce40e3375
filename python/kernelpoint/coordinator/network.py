"""Network addresses of a run: listeners, and who may connect to each."""

from __future__ import annotations

import contextlib
import os
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

LOOPBACK = "127.0.0.1:0"  # this machine only, any free port
SECURE = ("tls://", "wss://")
SECONDS_TO_ANSWER = 5.0
HEALTH = "/health"  # of Dask: answers at once, where the dashboard itself is drawn first


def dashboard_address() -> str:
    """Address on which Dask's dashboard listens: on loopback, unless KERNELPOINT_DASHBOARD names another."""
    return os.environ.get("KERNELPOINT_DASHBOARD", LOOPBACK)


def insecure_scheduler(address: str) -> str:
    """Warning for a scheduler without encryption; empty where its connections are encrypted.

    >>> insecure_scheduler("tls://10.0.0.1:8786")
    ''
    >>> insecure_scheduler("tcp://10.0.0.1:8786").partition(":")[0]
    'warning'
    """
    if address.startswith(SECURE):
        return ""
    return (
        f"warning: {address} has no encryption and no password: everybody who reaches it can run programs as you; "
        "use a scheduler with certificates (tls://)"
    )


def answering_dashboard(cluster: Any, client: Any) -> str:
    """Address of Dask's page on workers and tasks; empty where no page answers there.

    Args:
        cluster: a Dask cluster whose scheduler runs in this process, or None.
        client: of its scheduler.
    """
    if cluster is None:
        link = str(client.dashboard_link)
    else:
        server = cluster.scheduler.http_server
        link = f"http://{server.address}:{server.port}/status"
    return link if _answers(link) else ""


def _answers(link: str) -> bool:
    """True if a server of Dask's pages is found at an address."""
    page = urlsplit(link)
    if page.hostname is None:
        return False
    connection = HTTPConnection(page.hostname, page.port, timeout=SECONDS_TO_ANSWER)
    with contextlib.closing(connection):
        try:
            connection.request("GET", HEALTH)
            return connection.getresponse().status == HTTPStatus.OK
        except (OSError, HTTPException, ValueError):
            return False
