"""The API, version 1: a router a file; :mod:`nearsong.web.app` joins them below ``/api/v1``."""
