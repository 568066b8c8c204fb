"""Let Python say that it was built for a C library without `sem_clockwait`."""

from __future__ import annotations

import sysconfig
from typing import Any

_get_config_var = sysconfig.get_config_var


def _get_config_var_of_old_python(name: str) -> Any:
    return None if name == "HAVE_SEM_CLOCKWAIT" else _get_config_var(name)


sysconfig.get_config_var = _get_config_var_of_old_python
